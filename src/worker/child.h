#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"
#include "worker/reaper.h"

namespace clmcp::worker {

/// What to start. Standard input is always the null device.
struct ChildSpec {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  Fd output;
  Fd error;
  Fd control;              // becomes descriptor 3; none where it is empty
  std::string token = {};  // of one that runs user code: see Reaper::watch
};

/// One process in a group of its own, which dies when we die. Destroying the Child kills the group;
/// the Reaper does the rest.
class Child {
 public:
  [[nodiscard]] static Result<Child> start(ChildSpec spec, Reaper& reaper, Reaper::OnExit on_exit);

  /// One that we did not start ourselves, but became the parent of.
  [[nodiscard]] static Child adopt(pid_t pid, Reaper& reaper);

  ~Child();

  Child(Child&& other) noexcept : reaper_(other.reaper_), pid_(std::exchange(other.pid_, 0)) {}

  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// From now on it runs user code under `token`, and `on_exit` hears of its end. False where it
  /// has ended already.
  [[nodiscard]] bool run_user_code(std::string token, Reaper::OnExit on_exit);

  /// Sends a signal that carries `value`, to the process alone: what user code started should not
  /// be hit by an interrupt.
  void signal(int number, int value) const;

  void kill_group() const;

  /// As memory_of(); 0 once it has ended.
  [[nodiscard]] std::size_t memory() const;

 private:
  Child(Reaper& reaper, pid_t pid) : reaper_(&reaper), pid_(pid) {}

  Reaper* reaper_;
  pid_t pid_;
};

}  // namespace clmcp::worker
