#pragma once

#include <functional>
#include <map>
#include <utility>

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

  /// What to do with orphans when a child has ended.
  enum class Orphans {
    kLeave,  ///< it has none; those that are there belong to others
    kEnd,    ///< it ran user code
  };

  /// Calls `on_exit` once, from the loop, when the child `pid` has ended.
  void watch(pid_t pid, Orphans orphans, OnExit on_exit);

  /// While one of these lives no orphan is ended: a child is about to come to us that nobody
  /// watches yet.
  class Patience {
   public:
    explicit Patience(Reaper& reaper) : reaper_(&reaper) { ++reaper.patience_; }

    ~Patience();

    Patience(Patience&& other) noexcept : reaper_(std::exchange(other.reaper_, nullptr)) {}

    Patience& operator=(Patience&&) = delete;
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

   private:
    Reaper* reaper_;
  };

  /// Whether `pid` is still a process of ours: until we reap it, its number cannot mean another.
  [[nodiscard]] bool holds(pid_t pid) const;

  /// Nobody wants to hear of `pid` any more; it is reaped all the same.
  void forget(pid_t pid);

 private:
  void reap();
  void sweep();
  [[nodiscard]] bool end_orphans() const;

  struct Row {
    OnExit on_exit;  // Empty once the process is forgotten.
    Orphans orphans;
    bool reaped = false;
  };

  std::map<pid_t, Row> watched_;
  bool sweeping_ = false;  // A worker died, and what it left behind is being ended.
  int patience_ = 0;
};

}  // namespace clmcp::worker
