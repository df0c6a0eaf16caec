#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/loop.h"
#include "mcp/client.h"
#include "mcp/server.h"
#include "rpc/codec.h"
#include "transport/output.h"

namespace clmcp::transport {

/// One client on a pair of descriptors, one message a line. It begins to read when the loop runs.
/// Its callbacks come from the loop, never from inside another call, and may destroy it. The
/// process must ignore SIGPIPE.
class Stdio {
 public:
  /// `loop`, `server` and `log` must outlive it.
  Stdio(Loop& loop, Fd in, Fd out, mcp::Server& server, Log& log,
        std::size_t most_message_bytes = limits::kMessageBytes);
  ~Stdio() = default;
  Stdio(const Stdio&) = delete;
  Stdio& operator=(const Stdio&) = delete;
  Stdio(Stdio&&) = delete;
  Stdio& operator=(Stdio&&) = delete;

  /// The client sends no more; what is in flight is still answered.
  void on_input_end(Callback call) { events_->input_end = std::move(call); }

  /// After the end of the input: every request is answered and every answer is written.
  void on_idle(Callback call) { events_->idle = std::move(call); }

  /// Nobody reads our answers. Nothing is read or written any more.
  void on_output_gone(Callback call) { events_->output_gone = std::move(call); }

  /// Our answers cannot be written (a full disk). Nothing is read or written any more.
  void on_output_error(std::move_only_function<void(Error)> call) {
    events_->output_error = std::move(call);
  }

  /// How many requests are not answered yet.
  [[nodiscard]] std::size_t in_flight() const { return client_.in_flight(); }

 private:
  enum class State {
    kReading,
    kHeldBack,  ///< too much is unread on the other side for more requests
    kEnding,    ///< the input has ended, answers are awaited or unwritten
    kOver,
  };

  struct Events {
    Callback input_end = [] {};
    Callback idle = [] {};
    Callback output_gone = [] {};
    std::move_only_function<void(Error)> output_error = [](const Error&) {};
  };

  Output::Events output_events();
  void enter(State state);
  void read();
  void take_lines();
  void take(const rpc::LineReader::Line& line);
  void end_input();
  void on_progress();
  void check_idle();
  void call_soon(std::move_only_function<void(Events&)> call);

  Loop& loop_;
  Log& log_;
  std::shared_ptr<Events> events_ = std::make_shared<Events>();  // Calls to come hold it weakly.
  State state_ = State::kReading;
  Fd in_;
  std::string chunk_;
  std::string_view unread_;  // what is left of chunk_
  rpc::LineReader lines_;
  Output output_;
  mcp::Client client_;
  FdEvents input_;
};

}  // namespace clmcp::transport
