#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

namespace clmcp::worker {

/// The numbers of all processes that /proc shows now; some may have ended before they are looked
/// at.
[[nodiscard]] std::vector<pid_t> all_processes();

/// Whose child a process is, and its process group and session; all 0 where it is gone.
struct Kinship {
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

[[nodiscard]] Kinship kinship_of(pid_t pid);

/// The environment of a process, entries that each end with a zero byte; empty where it cannot be
/// read.
[[nodiscard]] std::string environment_of(pid_t pid);

/// The proportional set size of a process in bytes, 0 where it cannot be read: a page that several
/// processes share counts for each by its part, so that the sum over forks is what they all take.
[[nodiscard]] std::size_t memory_of(pid_t pid);

}  // namespace clmcp::worker
