// load-system: libraries and the user's own projects.

#include <optional>
#include <string>
#include <utility>

#include "json/fields.h"
#include "mcp/tool.h"
#include "session/operation.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

struct LoadSystemArgs {
  std::string system;
  std::optional<double> timeout;
  CallArgs call;

  void agent_fields(auto& f) {
    f.need("system", system, "ASDF system name to load (e.g., 'alexandria', 'cl-ppcre')");
  }

  void fields(auto& f) {
    agent_fields(f);
    f.opt("timeout", timeout, "Seconds after which the loading is stopped (default: never)",
          json::Range{0, 86'400});
    call.fields(f);
  }
};

}  // namespace

void add_system_tools(mcp::ToolSet& tools, const Workshop& workshop) {
  tools.add<LoadSystemArgs>(
      {.name = "load-system",
       .title = "Load system",
       .description = "Load an ASDF system using Quicklisp. The system becomes available for "
                      "subsequent evaluations.",
       .hints = {.read_only = false, .destructive = false, .idempotent = true, .open_world = true}},
      [workshop](LoadSystemArgs args, mcp::ToolCall tool_call) {
        session::Operation operation(
            "load-system", {.tool = "load-system", .text = args.system, .changes_state = true});
        forward(workshop, args, std::move(tool_call), std::move(operation), args.timeout);
      });
}

}  // namespace clmcp::tools
