#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/loop.h"
#include "worker/processes.h"

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

  /// The environment variable that tells whose an orphan is: the token of its worker.
  static constexpr const char* kOwner = "CL_MCP_WORKER";

  /// Calls `on_exit` once, from the loop, when the child `pid` has ended. Whatever carries `token`
  /// is ended then too; without one the child is known to leave nothing behind.
  void watch(pid_t pid, std::string token, OnExit on_exit);

  /// While one of these lives no orphan that carries `token` is ended: a child is about to come to
  /// us that nobody watches yet.
  class Patience {
   public:
    Patience(Reaper& reaper, std::string token)
        : reaper_(&reaper), place_(reaper.spared_.insert(std::move(token))) {}

    ~Patience();

    Patience(Patience&& other) noexcept
        : reaper_(std::exchange(other.reaper_, nullptr)), place_(other.place_) {}

    Patience& operator=(Patience&&) = delete;
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

   private:
    Reaper* reaper_;
    std::multiset<std::string>::iterator place_;
  };

  /// Whether `pid` is still a process of ours: until we reap it, its number cannot mean another.
  [[nodiscard]] bool holds(pid_t pid) const;

  /// Nobody wants to hear of `pid` any more; it is reaped all the same.
  void forget(pid_t pid);

 private:
  void reap();
  void sweep();
  [[nodiscard]] bool end_orphans() const;
  [[nodiscard]] bool is_left_behind(const std::string& token, const Kinship& kinship) const;
  [[nodiscard]] bool is_spared(const std::string& token) const;

  struct Row {
    OnExit on_exit;  // Empty once the process is forgotten.
    std::string token;
    bool reaped = false;
  };

  std::map<pid_t, Row> watched_;
  std::set<std::string> living_;       // The tokens of those that run user code.
  std::multiset<std::string> spared_;  // Those of which a child is about to come.
  std::set<pid_t> dead_;  // Workers whose death was not long ago; what they left is being ended.
};

}  // namespace clmcp::worker
