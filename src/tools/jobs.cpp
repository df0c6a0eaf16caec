// continue-evaluation and interrupt-evaluation: what to do about a call that takes long.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "json/fields.h"
#include "mcp/tool.h"
#include "session/session.h"
#include "session/timeline.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

constexpr json::Range kJobNumbers{1, 9'007'199'254'740'991};

std::optional<session::CallId> number(std::optional<std::int64_t> job) {
  return job ? std::optional(static_cast<session::CallId>(*job)) : std::nullopt;
}

struct ContinueArgs {
  std::optional<std::int64_t> job;
  CallArgs call;

  void fields(auto& f) {
    f.opt("job", job,
          "Number of the job, as the reply gave it (default: one that is finished and not read, or "
          "the one that runs)",
          kJobNumbers);
    call.fields(f);
  }
};

struct InterruptArgs {
  std::optional<std::int64_t> job;
  std::optional<std::int64_t> budget;
  std::optional<std::string> session;

  void fields(auto& f) {
    f.opt("job", job, "Number of the job (default: the one that runs)", kJobNumbers);
    f.opt("budget", budget, kBudgetDoc, kBudgets);
    f.opt("session", session, kSessionDoc);
  }
};

void wait_for_job(const Workshop& workshop, const ContinueArgs& args, mcp::ToolCall tool_call) {
  Errand errand(workshop, args.call, std::move(tool_call));
  const Result<std::shared_ptr<session::Session>> session =
      workshop.sessions.find(args.call.session);
  if (!session) {
    errand.refuse(session.error().message);
    return;
  }
  const std::uint64_t ticket =
      (*session)->wait_for(number(args.job), errand.terms(), errand.answer());
  // Who does not want to wait any more has not said that the work should stop.
  errand.on_cancel([weak = std::weak_ptr(*session), ticket] {
    if (const auto alive = weak.lock()) {
      alive->stop_waiting(ticket);
    }
  });
}

void interrupt_job(const Workshop& workshop, const InterruptArgs& args, mcp::ToolCall tool_call) {
  Errand errand(workshop, {.wait = {}, .budget = args.budget, .session = args.session},
                std::move(tool_call));
  const Result<std::shared_ptr<session::Session>> session = workshop.sessions.find(args.session);
  if (!session) {
    errand.refuse(session.error().message);
    return;
  }
  (*session)->interrupt(number(args.job), errand.answer());
}

}  // namespace

void add_job_tools(mcp::ToolSet& tools, const Workshop& workshop) {
  tools.add<ContinueArgs>({.name = "continue-evaluation",
                           .title = "Continue evaluation",
                           .description = "Wait again for a call that was still running when its "
                                          "reply came, and show what is new: "
                                          "the output since then, and the result if it is done.",
                           .hints = {.read_only = true,
                                     .destructive = false,
                                     .idempotent = false,
                                     .open_world = false}},
                          [workshop](const ContinueArgs& args, mcp::ToolCall call) {
                            wait_for_job(workshop, args, std::move(call));
                          });
  tools.add<InterruptArgs>(
      {.name = "interrupt-evaluation",
       .title = "Interrupt evaluation",
       .description =
           "Stop a running call, or take back one that waits for its turn. It is interrupted and "
           "unwinds; if it does not, its process is ended and the session goes back to its state "
           "before that call. Shows the output so far and where the code was.",
       .hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
      [workshop](const InterruptArgs& args, mcp::ToolCall call) {
        interrupt_job(workshop, args, std::move(call));
      });
}

}  // namespace clmcp::tools
