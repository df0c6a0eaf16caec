// list-definitions: what the session has defined.

#include <optional>
#include <string>
#include <utility>

#include "mcp/tool.h"
#include "session/operation.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

struct ListDefinitionsArgs {
  std::optional<std::string> type;
  CallArgs call;

  void agent_fields(auto& f) {
    f.choice("type", type, {"all", "functions", "variables", "macros", "classes"},
             "Filter by definition type (default: all)");
  }

  void fields(auto& f) {
    agent_fields(f);
    call.fields(f);
  }
};

}  // namespace

void add_definition_tools(mcp::ToolSet& tools, const Workshop& workshop) {
  tools.add<ListDefinitionsArgs>(
      {.name = "list-definitions",
       .title = "List definitions",
       .description = "List functions, variables, and other definitions in the current session.",
       .hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      [workshop](ListDefinitionsArgs args, mcp::ToolCall tool_call) {
        forward(workshop, args, std::move(tool_call),
                session::Operation("list-definitions", {.tool = "list-definitions"}));
      });
}

}  // namespace clmcp::tools
