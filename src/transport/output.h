#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"

namespace clmcp::transport {

/// Writes lines to a descriptor without ever waiting for it: what it does not take at once is kept
/// and written when it can be.
class Output {
 public:
  /// They may come from inside send() and release(), so they must not destroy the Output. After
  /// `gone` and `failed` nothing is written, kept or reported any more.
  struct Events {
    Callback progress;  ///< some of what was kept has been written
    Callback gone;      ///< nobody reads any more
    std::move_only_function<void(Error)> failed;
  };

  Output(Loop& loop, Fd fd, Events events);

  /// Writes `message` and a newline.
  void send(std::string message);

  /// From here to release() small messages are kept, to be written in one piece.
  void collect() { collecting_ = true; }

  void release();

  /// How many bytes are not written yet.
  [[nodiscard]] std::size_t kept() const { return kept_.size() - written_; }

 private:
  enum class State { kOpen, kBlocked, kClosed };

  void write();
  void wait();
  void gone();
  void failed(Error why);
  void drop_kept();

  Fd fd_;
  Events events_;
  State state_ = State::kOpen;
  bool collecting_ = false;
  std::string kept_;
  std::size_t written_ = 0;  // of kept_, from its front
  FdEvents readiness_;
};

}  // namespace clmcp::transport
