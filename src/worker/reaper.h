#pragma once

#include <functional>
#include <map>

#include <sys/types.h>

#include "base/loop.h"

namespace clmcp::worker {

/// How a process ended, as wait(2) tells it.
struct ExitStatus {
  int exit_code = 0;
  int signal = 0;  // 0 where it exited by itself
};

/// Waits for every process below us. The server is the subreaper of its descendants: what a dead
/// worker leaves behind becomes our child, and is ended here.
class Reaper {
 public:
  explicit Reaper(Loop& loop);
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  Reaper(Reaper&&) = delete;
  Reaper& operator=(Reaper&&) = delete;

  using OnExit = std::move_only_function<void(ExitStatus)>;

  /// Calls `on_exit` once, from the loop, when the child `pid` has ended.
  void watch(pid_t pid, OnExit on_exit);

  /// Whether `pid` is still a process of ours: until we reap it, its number cannot mean another.
  [[nodiscard]] bool holds(pid_t pid) const;

  /// Nobody wants to hear of `pid` any more; it is reaped all the same.
  void forget(pid_t pid);

 private:
  void reap();
  [[nodiscard]] bool end_orphans() const;

  struct Row {
    OnExit on_exit;  // Empty once the process is forgotten.
    bool reaped = false;
  };

  std::map<pid_t, Row> watched_;
  bool sweeping_ = false;  // A process of ours died, and what it left behind is being ended.
};

}  // namespace clmcp::worker
