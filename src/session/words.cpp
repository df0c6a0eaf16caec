#include "session/words.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "session/session.h"
#include "session/timeline.h"
#include "worker/worker.h"

namespace clmcp::session {

Outcome failure(std::string type, std::string message) {
  Outcome outcome;
  outcome.answer.condition =
      worker::Condition{.type = std::move(type), .message = std::move(message), .backtrace = {}};
  return outcome;
}

std::string seconds_text(Duration time) {
  const std::chrono::duration<double> seconds = time;
  return fmt::format("{:.{}f} s", seconds.count(), seconds.count() < 10 ? 1 : 0);
}

std::string reset_text(std::string_view remarks) {
  return fmt::format("Session reset. All definitions cleared.\nCurrent package: CL-USER{}{}",
                     remarks.empty() ? "" : "\n", remarks);
}

std::string step_text(const Step& step) {
  return step.after == 0 ? step.what : fmt::format("call {}: {}", step.after, step.what);
}

}  // namespace clmcp::session
