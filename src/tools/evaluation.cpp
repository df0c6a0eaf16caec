// evaluate-lisp: the REPL itself.

#include <optional>
#include <string>

#include "mcp/tool.h"
#include "session/sessions.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

struct EvaluateArgs {
  std::string code;
  std::optional<std::string> package;
  std::optional<std::string> session;

  void fields(auto& f) {
    f.need("code", code, "Common Lisp expression(s) to evaluate");
    f.opt("package", package, "Package context for evaluation (default: CL-USER)");
    f.opt("session", session, kSessionDoc);
  }
};

}  // namespace

void add_evaluation_tools(mcp::ToolSet& tools, session::Sessions& sessions) {
  forward<EvaluateArgs>(
      tools, sessions,
      {.name = "evaluate-lisp",
       .title = "Evaluate Lisp",
       .description = "Evaluate Common Lisp code in a persistent REPL session. Definitions and "
                      "variables persist across calls.",
       .hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = true}},
      "evaluate");
}

}  // namespace clmcp::tools
