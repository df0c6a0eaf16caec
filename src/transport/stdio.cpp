#include "transport/stdio.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/loop.h"
#include "mcp/server.h"
#include "rpc/codec.h"
#include "rpc/exchange.h"
#include "transport/output.h"

namespace clmcp::transport {
namespace {

/// What a pipe holds, so that one read empties it.
constexpr std::size_t kChunkBytes = 64 * limits::kKiB;

}  // namespace

Stdio::Stdio(Loop& loop, Fd in, Fd out, mcp::Server& server, Log& log,
             std::size_t most_message_bytes)
    : loop_(loop),
      log_(log),
      in_(std::move(in)),
      lines_(most_message_bytes),
      output_(loop, std::move(out), output_events()),
      client_(server),
      input_(loop, in_.get()) {
  input_.on_readable([this] { read(); });
}

Output::Events Stdio::output_events() {
  return {.progress = [this] { on_progress(); },
          .gone =
              [this] {
                enter(State::kOver);
                call_soon([](Events& events) { events.output_gone(); });
              },
          .failed =
              [this](Error why) {
                enter(State::kOver);
                call_soon([why = std::move(why)](Events& events) mutable {
                  events.output_error(std::move(why));
                });
              }};
}

void Stdio::enter(State state) {
  static constexpr std::array<std::string_view, 4> kNames = {"reading", "held-back", "ending",
                                                             "over"};
  state_ = state;
  log_.debug("stdio", {{"state", kNames.at(static_cast<std::size_t>(state))}});
  if (state == State::kReading) {
    input_.resume_reading();
  } else {
    input_.pause_reading();
  }
}

void Stdio::read() {
  chunk_.clear();
  switch (read_some(in_.get(), chunk_, kChunkBytes)) {
    case IoStatus::kOk:
      unread_ = chunk_;
      return take_lines();
    case IoStatus::kWouldBlock:
      return;
    case IoStatus::kFailed:
      log_.warning("stdio", {{"reading", system_error("failed, taken as the end").message}});
      return end_input();
    case IoStatus::kClosed:
      return end_input();
  }
}

/// Goes through what was read, unless the client does not read its answers: then the rest waits.
void Stdio::take_lines() {
  output_.collect();
  while (state_ == State::kReading) {
    if (output_.kept() > limits::kUnreadReplyBytes) {
      enter(State::kHeldBack);
    } else if (const auto line = lines_.next(unread_)) {
      take(*line);
    } else {
      break;
    }
  }
  output_.release();
}

void Stdio::take(const rpc::LineReader::Line& line) {
  auto send = [this](std::string message, rpc::Part part) {
    // Answers are bounded by the requests we read; notifications would pile up for ever.
    if (part == rpc::Part::kNotification && output_.kept() > limits::kUnreadReplyBytes) {
      return;
    }
    output_.send(std::move(message));
    check_idle();
  };
  if (line) {
    client_.receive(*line, std::move(send));
  } else {
    client_.refuse(line.error(), std::move(send));
  }
}

void Stdio::end_input() {
  enter(State::kEnding);
  call_soon([](Events& events) { events.input_end(); });
  if (const auto line = lines_.finish()) {
    take(*line);
  }
  check_idle();
}

void Stdio::on_progress() {
  if (state_ == State::kHeldBack && output_.kept() <= limits::kUnreadReplyBytes) {
    enter(State::kReading);
    take_lines();
  }
  check_idle();
}

void Stdio::check_idle() {
  if (state_ == State::kEnding && in_flight() == 0 && output_.kept() == 0) {
    enter(State::kOver);
    call_soon([](Events& events) { events.idle(); });
  }
}

void Stdio::call_soon(std::move_only_function<void(Events&)> call) {
  loop_.post([events = std::weak_ptr(events_), call = std::move(call)]() mutable {
    if (const auto listeners = events.lock()) {
      call(*listeners);
    }
  });
}

}  // namespace clmcp::transport
