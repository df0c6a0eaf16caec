// evaluate-lisp: the REPL itself.

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

struct EvaluateArgs {
  std::string code;
  std::optional<std::string> package;
  std::optional<double> timeout;
  std::optional<bool> keep;
  CallArgs call;

  void agent_fields(auto& f) {
    f.need("code", code, "Common Lisp expression(s) to evaluate");
    f.opt("package", package, "Package context for evaluation (default: CL-USER)");
  }

  void fields(auto& f) {
    agent_fields(f);
    f.opt("timeout", timeout, "Seconds after which the evaluation is stopped (default: never)",
          json::Range{0, 86'400});
    f.opt("keep", keep,
          "false makes it a dry run: the session is put back as it was before (default: true)");
    call.fields(f);
  }
};

}  // namespace

void add_evaluation_tools(mcp::ToolSet& tools, const Workshop& workshop) {
  tools.add<EvaluateArgs>(
      {.name = "evaluate-lisp",
       .title = "Evaluate Lisp",
       .description = "Evaluate Common Lisp code in a persistent REPL session. Definitions and "
                      "variables persist across calls.",
       .hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = true}},
      [workshop](EvaluateArgs args, mcp::ToolCall tool_call) {
        session::Operation operation("evaluate", {.tool = "evaluate-lisp",
                                                  .text = args.code,
                                                  .package = args.package,
                                                  .changes_state = true});
        forward(workshop, args, std::move(tool_call), std::move(operation), args.timeout,
                args.keep.value_or(true));
      });
}

}  // namespace clmcp::tools
