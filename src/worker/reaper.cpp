#include "worker/reaper.h"

#include <charconv>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/loop.h"
#include "worker/processes.h"

namespace clmcp::worker {
namespace {

// NOLINTBEGIN(misc-include-cleaner): glibc defines what sys/wait.h promises in headers of its own.
constexpr int kNoWaiting = WNOHANG;

ExitStatus status_of(int status) {
  if (WIFSIGNALED(status)) {
    return {.exit_code = 0, .signal = WTERMSIG(status)};
  }
  return {.exit_code = WEXITSTATUS(status), .signal = 0};
}

// NOLINTEND(misc-include-cleaner)

/// The parent of a process; 0 where it cannot be told any more.
pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // "pid (command) state parent …", where the command may hold spaces and parentheses.
  const std::size_t command_end = line.rfind(')');
  if (command_end == std::string::npos || line.size() < command_end + 5) {
    return 0;
  }
  const std::string_view rest = std::string_view(line).substr(command_end + 4);
  pid_t parent = 0;
  (void)std::from_chars(rest.data(), rest.data() + rest.size(), parent);  // 0 says enough.
  return parent;
}

std::vector<pid_t> children_of_ours() {
  std::vector<pid_t> children = all_processes();
  std::erase_if(children, [](pid_t pid) { return parent_of(pid) != ::getpid(); });
  return children;
}

}  // namespace

Reaper::Reaper(Loop& loop) {
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);  // Cannot fail on any Linux since 3.4.
  loop.on_signals({SIGCHLD}, [this](int) { reap(); });
}

Reaper::~Reaper() {
  // What is killed here leaves its own children to us, so look again until nobody is left. A child
  // that cannot be killed (stuck in the kernel) must not keep us, so the rounds are bounded.
  for (int round = 0; round < 100; ++round) {
    const std::vector<pid_t> children = children_of_ours();
    if (children.empty()) {
      return;
    }
    for (const pid_t pid : children) {
      (void)::kill(pid, SIGKILL);  // It may have ended meanwhile.
    }
    for (const pid_t pid : children) {
      (void)::waitpid(pid, nullptr, 0);
    }
  }
}

Reaper::Patience::~Patience() {
  if (reaper_ != nullptr && --reaper_->patience_ == 0) {
    reaper_->sweep();
  }
}

void Reaper::watch(pid_t pid, Orphans orphans, OnExit on_exit) {
  watched_.insert_or_assign(pid, Row{.on_exit = std::move(on_exit), .orphans = orphans});
}

bool Reaper::holds(pid_t pid) const {
  const auto found = watched_.find(pid);
  return found != watched_.end() && !found->second.reaped;
}

void Reaper::forget(pid_t pid) {
  if (const auto found = watched_.find(pid); found != watched_.end()) {
    found->second.on_exit = nullptr;
  }
}

void Reaper::reap() {
  std::vector<std::pair<pid_t, ExitStatus>> ended;
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, kNoWaiting);
    if (pid <= 0) {
      break;
    }
    if (const auto found = watched_.find(pid); found != watched_.end()) {
      found->second.reaped = true;
      sweeping_ = sweeping_ || found->second.orphans == Orphans::kEnd;
      ended.emplace_back(pid, status_of(status));
    }
  }
  sweep();  // Again for each that dies of it: an orphan leaves its own children to us.
  for (const auto& [pid, status] : ended) {
    // Taken out just before the call: the call before may have made this one be forgotten.
    if (auto row = watched_.extract(pid); !row.empty() && row.mapped().on_exit) {
      row.mapped().on_exit(status);
    }
  }
}

void Reaper::sweep() {
  if (sweeping_ && patience_ == 0) {
    sweeping_ = end_orphans();
  }
}

/// Ends the children that nobody watches; false where there are none. While a worker lives, what it
/// sent into the background is left alone: only a death brings us here.
bool Reaper::end_orphans() const {
  bool found = false;
  for (const pid_t pid : children_of_ours()) {
    if (!watched_.contains(pid)) {
      (void)::kill(pid, SIGKILL);
      found = true;
    }
  }
  return found;
}

}  // namespace clmcp::worker
