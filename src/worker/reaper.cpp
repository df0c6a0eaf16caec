#include "worker/reaper.h"

#include <algorithm>
#include <cstddef>
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

/// The worker's token in a process's environment; empty where there is none.
std::string token_of(pid_t pid) {
  const std::string environment = environment_of(pid);
  const std::string name = fmt::format("{}=", Reaper::kOwner);
  for (std::size_t start = 0; start < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', start), environment.size());
    const std::string_view entry = std::string_view(environment).substr(start, end - start);
    if (entry.starts_with(name)) {
      return std::string(entry.substr(name.size()));
    }
    start = end + 1;
  }
  return "";
}

std::vector<pid_t> children_of_ours() {
  std::vector<pid_t> children = all_processes();
  std::erase_if(children, [](pid_t pid) { return kinship_of(pid).parent != ::getpid(); });
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
  if (reaper_ != nullptr) {
    reaper_->spared_.erase(place_);
    reaper_->sweep();
  }
}

void Reaper::watch(pid_t pid, std::string token, OnExit on_exit) {
  if (!token.empty()) {
    living_.insert(token);
  }
  dead_.erase(pid);  // It is another's number now.
  watched_.insert_or_assign(pid, Row{.on_exit = std::move(on_exit), .token = std::move(token)});
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
      if (!found->second.token.empty()) {
        living_.erase(found->second.token);
        dead_.insert(pid);
      }
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
  if (!dead_.empty() && !end_orphans()) {
    dead_.clear();
  }
}

/// Ends what dead workers left behind; false where there is nothing left, spared or not. While a
/// worker lives, what it sent into the background is left alone.
bool Reaper::end_orphans() const {
  bool found = false;
  for (const pid_t pid : all_processes()) {
    if (watched_.contains(pid)) {
      continue;  // Before its files are read: there may be thousands.
    }
    const Kinship kinship = kinship_of(pid);
    if (kinship.parent != ::getpid()) {
      continue;
    }
    const std::string token = token_of(pid);
    if (is_left_behind(token, kinship)) {
      found = true;
      if (!is_spared(token)) {
        (void)::kill(pid, SIGKILL);
      }
    }
  }
  return found;
}

/// Programs that a worker ran have its token, and so have copies of itself that user code forked.
/// One without was given another environment, or hides it, as a set-user-id program does. Then its
/// group or session may tell whose it is; and if not, it stays until nobody lives whose it could
/// be: better a stray program for a while than to end one that somebody needs.
bool Reaper::is_left_behind(const std::string& token, const Kinship& kinship) const {
  if (!token.empty()) {
    return !living_.contains(token);
  }
  return dead_.contains(kinship.group) || dead_.contains(kinship.session) || living_.empty();
}

bool Reaper::is_spared(const std::string& token) const {
  return token.empty() ? !spared_.empty() : spared_.contains(token);
}

}  // namespace clmcp::worker
