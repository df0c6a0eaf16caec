// sessions: several Lisp worlds beside each other.

#include "session/sessions.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "mcp/tool.h"
#include "session/session.h"
#include "session/timeline.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

struct SessionsArgs {
  std::string action;
  std::optional<std::string> to;
  CallArgs call;

  void fields(auto& f) {
    f.need_choice("action", action, {"list", "open", "fork", "close"},
                  "open makes a fresh session, fork copies one with all its state");
    f.opt("to", to, "Name of the copy that fork makes (default: made up)");
    call.fields(f);
  }
};

std::string list(const session::Sessions& sessions) {
  std::string text = "[Sessions]";
  for (const auto& session : sessions.all()) {
    const std::string_view package = session->package();
    text += fmt::format("\n- {}: {}, package {}, {:.1f} MB", session->name(), session->activity(),
                        package == "COMMON-LISP-USER" ? "CL-USER" : package,
                        static_cast<double>(session->memory()) / (1024 * 1024));
  }
  return text;
}

std::string how_to_use(const session::Session& session) {
  return fmt::format("Give \"session\": \"{}\" to a tool to use it.", session.name());
}

void open(session::Sessions& sessions, const std::optional<std::string>& name, Errand errand) {
  const Result<std::shared_ptr<session::Session>> session = sessions.open(name);
  if (!session) {
    errand.refuse(session.error().message);
    return;
  }
  errand.say(fmt::format("Session '{}' is open: a fresh Lisp. {}", (*session)->name(),
                         how_to_use(**session)));
}

void close(session::Sessions& sessions, const std::optional<std::string>& name, Errand errand) {
  if (!name) {
    errand.refuse("The action close needs a 'session'.");
    return;
  }
  const Result<void> closed = sessions.close(*name);
  if (!closed) {
    errand.refuse(closed.error().message);
    return;
  }
  errand.say(fmt::format("Session '{}' is closed, and its state is gone.", *name));
}

void fork(session::Sessions& sessions, const std::optional<std::string>& to,
          session::Session& session, session::CallId id, Errand errand) {
  if (const Result<void> possible = sessions.check(to); !possible) {
    errand.refuse(possible.error().message);
    return;
  }
  auto take = [&sessions, to](session::Step origin) -> Result<std::string> {
    const std::string what = origin.what;
    const std::shared_ptr<session::Session> copy = TRY(sessions.open(to, std::move(origin)));
    return fmt::format("Session '{}' is open: a {}. {}", copy->name(), what, how_to_use(*copy));
  };
  session.fork(id, std::move(take), errand.terms(), errand.answer());
}

}  // namespace

void add_session_tools(mcp::ToolSet& tools, const Workshop& workshop) {
  tools.add<SessionsArgs>(
      {.name = "sessions",
       .title = "Sessions",
       .description = "List the sessions, open a fresh one, fork one (a copy with all its state, "
                      "for a second agent or an experiment), or close one. Each is a Lisp process "
                      "of its own, and they evaluate in parallel.",
       .hints =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
      [workshop](const SessionsArgs& args, mcp::ToolCall tool_call) {
        if (args.action == "fork") {
          in_session(workshop, args.call, std::move(tool_call),
                     [&](session::Session& session, session::CallId id, Errand errand) {
                       fork(workshop.sessions, args.to, session, id, std::move(errand));
                     });
          return;
        }
        Errand errand(workshop, args.call, std::move(tool_call));
        if (args.action == "open") {
          open(workshop.sessions, args.call.session, std::move(errand));
        } else if (args.action == "close") {
          close(workshop.sessions, args.call.session, std::move(errand));
        } else {
          errand.say(list(workshop.sessions));
        }
      });
}

}  // namespace clmcp::tools
