// list-definitions: what the session has defined.

#include <optional>
#include <string>

#include "mcp/tool.h"
#include "session/sessions.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

struct ListDefinitionsArgs {
  std::optional<std::string> type;
  std::optional<std::string> session;

  void fields(auto& f) {
    f.choice("type", type, {"all", "functions", "variables", "macros", "classes"},
             "Filter by definition type (default: all)");
    f.opt("session", session, kSessionDoc);
  }
};

}  // namespace

void add_definition_tools(mcp::ToolSet& tools, session::Sessions& sessions) {
  forward<ListDefinitionsArgs>(
      tools, sessions,
      {.name = "list-definitions",
       .title = "List definitions",
       .description = "List functions, variables, and other definitions in the current session.",
       .hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      "list-definitions");
}

}  // namespace clmcp::tools
