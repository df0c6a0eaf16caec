#include "worker/child.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/result.h"
#include "worker/processes.h"
#include "worker/reaper.h"

namespace clmcp::worker {
namespace {

constexpr int kControlFd = 3;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& string : strings) {
    result.push_back(string.data());
  }
  result.push_back(nullptr);
  return result;
}

/// A copy above the numbers that the new process will use, so that placing one descriptor cannot
/// overwrite another.
Result<Fd> above_standard(const Fd& fd) {
  Fd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kControlFd + 1));
  if (!copy) {
    return std::unexpected(system_error("Cannot copy a descriptor"));
  }
  return copy;
}

/// The new process, up to exec. Only calls that are safe after fork; nothing here allocates.
[[noreturn]] void become(const std::vector<char*>& argv, const std::vector<char*>& environment,
                         const int (&descriptors)[4], int report, pid_t parent) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool good = ::getppid() == parent;  // Else we were orphaned before the signal was asked for.
  // Ignored signals stay ignored across exec; a Lisp expects the ordinary state of things.
  (void)::signal(SIGPIPE, SIG_DFL);
  (void)::signal(SIGXFSZ, SIG_DFL);
  (void)::signal(SIGINT, SIG_DFL);
  sigset_t none;
  (void)::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
  restore_descriptor_limit();
  for (int target = 0; target < 4; ++target) {
    good = good && (descriptors[target] < 0 || ::dup2(descriptors[target], target) == target);
  }
  if (good) {
    (void)::execve(argv.front(), argv.data(), environment.data());
  }
  const int reason = errno;
  (void)!::write(report, &reason, sizeof reason);  // Nobody else is left to tell.
  ::_exit(127);
}

}  // namespace

Result<Child> Child::start(ChildSpec spec, Reaper& reaper, Reaper::OnExit on_exit) {
  std::vector<std::string> environment_strings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment_strings.emplace_back(*entry);
  }
  for (const auto& [name, value] : spec.environment) {
    environment_strings.push_back(fmt::format("{}={}", name, value));
  }
  const std::vector<char*> argv = pointers(spec.argv);
  const std::vector<char*> environment = pointers(environment_strings);

  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) {
    return std::unexpected(system_error("Cannot open /dev/null"));
  }
  const Fd input = TRY(above_standard(null));
  const Fd output = TRY(above_standard(spec.output));
  const Fd error = TRY(above_standard(spec.error));
  Fd control;
  if (spec.control) {
    control = TRY(above_standard(spec.control));
  }
  FdPair pipe = TRY(make_pipe());
  Fd report = TRY(above_standard(pipe.theirs));
  pipe.theirs.reset();

  const int descriptors[4] = {input.get(), output.get(), error.get(), control.get()};
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return std::unexpected(system_error("Cannot start a process"));
  }
  if (pid == 0) {
    become(argv, environment, descriptors, report.get(), parent);
  }
  (void)::setpgid(pid, pid);  // In both processes, as either may come first.
  reaper.watch(pid, std::move(spec.token), std::move(on_exit));
  Child child(reaper, pid);

  // The pipe reads end of file once exec has closed it, and else the reason why it could not.
  report.reset();
  int reason = 0;
  (void)::fcntl(pipe.ours.get(), F_SETFL, 0);  // This one wait is short, and exec ends it.
  if (::read(pipe.ours.get(), &reason, sizeof reason) == sizeof reason) {
    errno = reason;
    return std::unexpected(system_error(fmt::format("Cannot run {}", spec.argv.front())));
  }
  return child;
}

Child Child::adopt(pid_t pid, Reaper& reaper) {
  reaper.watch(pid, "", nullptr);
  return {reaper, pid};
}

bool Child::run_user_code(std::string token, Reaper::OnExit on_exit) {
  if (!reaper_->holds(pid_)) {
    return false;
  }
  reaper_->watch(pid_, std::move(token), std::move(on_exit));
  return true;
}

Child::~Child() {
  if (pid_ > 0) {
    kill_group();
    reaper_->forget(pid_);
  }
}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(reaper_, other.reaper_);
  std::swap(pid_, other.pid_);
  return *this;
}

void Child::signal(int number, int value) const {
  if (reaper_->holds(pid_)) {
    (void)::sigqueue(pid_, number, sigval{.sival_int = value});
  }
}

void Child::kill_group() const {
  if (reaper_->holds(pid_)) {
    (void)::kill(-pid_, SIGKILL);
    (void)::kill(pid_, SIGKILL);  // Should it have left its group.
  }
}

std::size_t Child::memory() const {
  return reaper_->holds(pid_) ? memory_of(pid_) : 0;
}

}  // namespace clmcp::worker
