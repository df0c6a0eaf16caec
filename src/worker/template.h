#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "worker/worker.h"

namespace clmcp::worker {

/// A Lisp process that never runs user code, of which every new worker is a copy: a fork takes a
/// fraction of the time of a start, and shares the image's memory with all the others.
class Template final : private WorkerEvents {
 public:
  /// Starts the process, as WorkerSource::start does.
  using Start = std::move_only_function<std::unique_ptr<Worker>(WorkerEvents&)>;
  using Copied = std::move_only_function<void(Result<std::unique_ptr<Frozen>>)>;

  Template(Loop& loop, Start start) : loop_(loop), start_(std::move(start)) {}

  /// Calls `done` once, from the loop, with a copy or with why there can be none: a sentence for
  /// people, or an error of the system. Not called once `wanted` is gone. The first copy starts the
  /// process, and the first after its death another.
  void copy(std::weak_ptr<bool> wanted, Copied done);

 private:
  enum class State {
    kNone,      ///< not started, or dead
    kStarting,  ///< copies wait for it to be ready
    kReady,
    kCopying,  ///< it makes the copy for the first who waits
  };

  struct Waiter {
    std::weak_ptr<bool> wanted;
    Copied done;
    bool failed_once = false;  // The process died of making this copy, or just then.
  };

  void on_ready() override;

  void on_output(Stream /*stream*/, std::string_view /*bytes*/) override {}

  void on_interrupting(std::vector<std::string> /*backtrace*/) override {}

  void on_answer(Answer /*answer*/) override {}

  void on_end(std::string how) override;

  void advance_later();
  void advance();
  void hand_over(Result<std::unique_ptr<Frozen>> copy);

  Loop& loop_;
  Start start_;
  State state_ = State::kNone;
  std::unique_ptr<Worker> process_;
  std::deque<Waiter> waiters_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // For calls that outlive us.
};

}  // namespace clmcp::worker
