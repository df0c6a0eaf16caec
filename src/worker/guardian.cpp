#include "worker/guardian.h"

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
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

Result<std::string> make_token() {
  std::array<std::uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    return std::unexpected(system_error("Cannot get random bytes"));
  }
  return fmt::format("{:016x}{:016x}", random[0], random[1]);
}

/// Kills every process that has `entry` in its environment; false where there is none.
bool end_all(std::string_view entry) {
  bool found = false;
  for (const pid_t pid : all_processes()) {
    if (pid == ::getpid()) {
      continue;
    }
    if (environment_of(pid).find(entry) != std::string::npos) {
      found = true;
      (void)::kill(pid, SIGKILL);  // It may have ended meanwhile.
    }
  }
  return found;
}

/// The guardian's life. It holds none of our descriptors but its end of the lifeline: a client must
/// see our output close when we are gone.
[[noreturn]] void guard(int lifeline, const std::string& entry) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_NAME, "cl-mcp-guardian");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    (void)::signal(number, SIG_IGN);
  }
  if (const int null = ::open("/dev/null", O_RDWR); null >= 0) {
    for (int fd = 0; fd < 3; ++fd) {
      (void)::dup2(null, fd);
    }
  }
  (void)::dup2(lifeline, 3);
  (void)::close_range(4, ~0U, 0);
  char byte = 0;
  while (::read(3, &byte, 1) > 0) {
  }
  // Again, since what we kill may have started others meanwhile; bounded, since a process that is
  // stuck in the kernel stays to be found.
  for (int round = 0; round < 1000 && end_all(entry); ++round) {
    (void)::usleep(1000);
  }
  ::_exit(0);
}

}  // namespace

Result<Guardian> Guardian::start(Reaper& reaper) {
  std::string token = TRY(make_token());
  const std::string entry = fmt::format("{}={}", kVariable, token);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::unexpected(system_error("Cannot make a pipe"));
  }
  const Fd theirs(ends[0]);
  Fd ours(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return std::unexpected(system_error("Cannot start a process"));
  }
  if (pid == 0) {
    ours.reset();
    guard(theirs.get(), entry);
  }
  reaper.watch(pid, "", nullptr);
  return Guardian(std::move(token), std::move(ours));
}

}  // namespace clmcp::worker
