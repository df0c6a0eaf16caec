#include "transport/output.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"

namespace clmcp::transport {
namespace {

/// What a pipe holds: keeping more than this together saves nothing.
constexpr std::size_t kEnough = 64 * limits::kKiB;

}  // namespace

Output::Output(Loop& loop, Fd fd, Events events)
    : fd_(std::move(fd)), events_(std::move(events)), readiness_(loop, fd_.get()) {
  // A client may go while we have nothing to write, and work that nobody waits for must stop.
  readiness_.once_hung_up([this] { gone(); });
}

void Output::send(std::string message) {
  if (state_ == State::kClosed) {
    return;
  }
  message += '\n';
  if (kept_.empty()) {
    kept_ = std::move(message);
  } else {
    kept_ += message;
  }
  if (state_ == State::kOpen && (!collecting_ || kept() >= kEnough)) {
    write();
  }
}

void Output::release() {
  collecting_ = false;
  if (state_ == State::kOpen) {
    write();
  }
}

void Output::write() {
  while (kept() != 0) {
    std::string_view rest = std::string_view(kept_).substr(written_);
    const IoStatus status = write_some(fd_.get(), rest);
    written_ = kept_.size() - rest.size();
    switch (status) {
      case IoStatus::kOk:
        break;
      case IoStatus::kWouldBlock:
        return wait();
      case IoStatus::kClosed:
        return gone();
      case IoStatus::kFailed:
        return failed(system_error("Cannot write to the client"));
    }
  }
  drop_kept();
}

void Output::wait() {
  state_ = State::kBlocked;
  // Not after each piece: moving a long rest every time would take quadratic time.
  if (written_ > kept_.size() / 2) {
    kept_.erase(0, written_);
    written_ = 0;
  }
  readiness_.once_writable([this] {
    if (state_ == State::kBlocked) {
      state_ = State::kOpen;
      write();
      events_.progress();
    }
  });
}

void Output::gone() {
  if (state_ != State::kClosed) {
    state_ = State::kClosed;
    drop_kept();
    events_.gone();
  }
}

void Output::failed(Error why) {
  state_ = State::kClosed;
  drop_kept();
  events_.failed(std::move(why));
}

/// Gives the memory back too: one long answer must not cost it for ever.
void Output::drop_kept() {
  std::string().swap(kept_);
  written_ = 0;
}

}  // namespace clmcp::transport
