#include "worker/freezing.h"

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/answer.h"
#include "worker/child.h"
#include "worker/reaper.h"
#include "worker/worker.h"

namespace clmcp::worker {
namespace {

std::unexpected<Error> impossible(std::string why) {
  return std::unexpected(Error{.code = ErrorCode::kUnavailable, .message = std::move(why)});
}

}  // namespace

Freezing::Freezing(Loop& loop, Reaper& reaper, std::string token, Fd link, Done done)
    : reaper_(reaper),
      patience_(reaper, std::move(token)),
      link_(std::move(link)),
      done_(std::move(done)),
      events_(loop, link_.get()) {
  events_.on_readable([this] { hear_from_copy(); });
}

void Freezing::original_says(const Answer& answer) {
  if (answer.condition) {
    original_ = impossible(answer.condition->message);
  } else {
    original_ = Result<void>();
  }
  conclude_if_both_spoke();
}

void Freezing::hear_from_copy() {
  const IoStatus status = read_some(link_.get(), frames_.buffer(), limits::kKiB);
  const Result<std::optional<AgentMessage>> message = next_agent_message(frames_);
  const FrozenCopy* copy = message && *message ? std::get_if<FrozenCopy>(&**message) : nullptr;
  if (copy != nullptr) {
    copy_ = Child::adopt(static_cast<int>(copy->pid), reaper_);
  } else if (!message || status == IoStatus::kClosed || status == IoStatus::kFailed) {
    copy_ = impossible("The copy died.");  // Or there is none, and the original says why.
  } else {
    return;
  }
  events_.pause_reading();
  conclude_if_both_spoke();
}

void Freezing::conclude_if_both_spoke() {
  if (!original_ || (*original_ && !copy_)) {
    return;
  }
  Done done = std::move(done_);
  if (!*original_) {
    done(std::unexpected(original_->error()));
  } else if (!*copy_) {
    done(std::unexpected(copy_->error()));
  } else {
    done(std::make_unique<FrozenSbcl>(*std::move(*copy_), std::move(link_)));
  }
}

}  // namespace clmcp::worker
