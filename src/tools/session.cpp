// reset-session: a new Lisp world under the same name.

#include "session/session.h"

#include <optional>
#include <string>
#include <utility>

#include "mcp/tool.h"
#include "session/sessions.h"
#include "tools/call.h"
#include "tools/families.h"
#include "tools/outcome_text.h"

namespace clmcp::tools {
namespace {

struct ResetArgs {
  std::optional<std::string> session;

  void fields(auto& f) { f.opt("session", session, kSessionDoc); }
};

mcp::ToolResult reset_result(session::Outcome outcome) {
  if (!outcome.answer.condition) {
    std::string text = "Session reset. All definitions cleared.\nCurrent package: CL-USER";
    if (outcome.answer.text && !outcome.answer.text->empty()) {
      text += "\n" + *outcome.answer.text;
    }
    outcome.answer.text = std::move(text);
  }
  return outcome_result(outcome);
}

}  // namespace

void add_session_tools(mcp::ToolSet& tools, session::Sessions& sessions) {
  tools.add<ResetArgs>(
      {.name = "reset-session",
       .title = "Reset session",
       .description = "Clear all session state including definitions and variables. Start fresh.",
       .hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
      [&sessions](const ResetArgs& args, mcp::ToolCall tool_call) {
        in_session(sessions, args.session, std::move(tool_call),
                   [](session::Session& session, session::CallId id, mcp::ToolCall call) {
                     session.reset(id, [call = std::move(call)](session::Outcome outcome) mutable {
                       std::move(call).answer(reset_result(std::move(outcome)));
                     });
                   });
      });
}

}  // namespace clmcp::tools
