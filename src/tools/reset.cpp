// reset-session: a new Lisp world under the same name.

#include <utility>

#include "mcp/tool.h"
#include "session/session.h"
#include "session/timeline.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

struct ResetArgs {
  CallArgs call;

  void fields(auto& f) { call.fields(f); }
};

}  // namespace

void add_reset_tools(mcp::ToolSet& tools, const Workshop& workshop) {
  tools.add<ResetArgs>(
      {.name = "reset-session",
       .title = "Reset session",
       .description = "Clear all session state including definitions and variables. Start fresh.",
       .hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
      [workshop](const ResetArgs& args, mcp::ToolCall tool_call) {
        in_session(workshop, args.call, std::move(tool_call),
                   [](session::Session& session, session::CallId id, const Errand& errand) {
                     session.reset(id, errand.terms(), errand.answer());
                   });
      });
}

}  // namespace clmcp::tools
