#include "worker/template.h"

#include <deque>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/result.h"
#include "worker/worker.h"

namespace clmcp::worker {
namespace {

std::unexpected<Error> unavailable(std::string why) {
  return std::unexpected(Error{.code = ErrorCode::kUnavailable, .message = std::move(why)});
}

}  // namespace

void Template::copy(std::weak_ptr<bool> wanted, Copied done) {
  waiters_.push_back({.wanted = std::move(wanted), .done = std::move(done)});
  advance_later();
}

/// From the loop, so that nobody is called from inside a call of his own, and a thousand failures
/// in a row are no recursion.
void Template::advance_later() {
  loop_.post([weak = std::weak_ptr(alive_), this] {
    if (!weak.expired()) {
      advance();
    }
  });
}

void Template::advance() {
  while (state_ != State::kCopying && !waiters_.empty() && waiters_.front().wanted.expired()) {
    waiters_.pop_front();
  }
  if (waiters_.empty()) {
    return;
  }
  if (state_ == State::kNone) {
    state_ = State::kStarting;
    process_ = start_(*this);
  } else if (state_ == State::kReady) {
    state_ = State::kCopying;
    process_->freeze([this](Result<std::unique_ptr<Frozen>> copy) {
      state_ = State::kReady;
      if (!copy && copy.error().code != ErrorCode::kSystem) {
        copy = unavailable(
            fmt::format("The Lisp process cannot be started: {}", copy.error().message));
      }
      hand_over(std::move(copy));
      advance_later();
    });
  }
}

/// Answers the first who waits.
void Template::hand_over(Result<std::unique_ptr<Frozen>> copy) {
  Waiter first = std::move(waiters_.front());
  waiters_.pop_front();
  if (!first.wanted.expired()) {
    first.done(std::move(copy));
  }
}

void Template::on_ready() {
  state_ = State::kReady;
  advance();
}

/// A start that fails would fail again for the next who waits, so all are told. A process that had
/// served is replaced; but should another die of the same copy, then that one is given up.
void Template::on_end(std::string how) {
  process_.reset();
  const State before = std::exchange(state_, State::kNone);
  if (before == State::kStarting) {
    std::deque<Waiter> waiters = std::exchange(waiters_, {});
    for (Waiter& waiter : waiters) {
      if (!waiter.wanted.expired()) {
        waiter.done(unavailable(how));
      }
    }
  } else if (before == State::kCopying && std::exchange(waiters_.front().failed_once, true)) {
    hand_over(unavailable(std::move(how)));
  }
  advance_later();
}

}  // namespace clmcp::worker
