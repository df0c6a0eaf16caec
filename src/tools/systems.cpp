// load-system: libraries and the user's own projects.

#include <optional>
#include <string>

#include "mcp/tool.h"
#include "session/sessions.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

struct LoadSystemArgs {
  std::string system;
  std::optional<std::string> session;

  void fields(auto& f) {
    f.need("system", system, "ASDF system name to load (e.g., 'alexandria', 'cl-ppcre')");
    f.opt("session", session, kSessionDoc);
  }
};

}  // namespace

void add_system_tools(mcp::ToolSet& tools, session::Sessions& sessions) {
  forward<LoadSystemArgs>(
      tools, sessions,
      {.name = "load-system",
       .title = "Load system",
       .description = "Load an ASDF system using Quicklisp. The system becomes available for "
                      "subsequent evaluations.",
       .hints = {.read_only = false, .destructive = false, .idempotent = true, .open_world = true}},
      "load-system");
}

}  // namespace clmcp::tools
