#pragma once

#include <cstddef>
#include <vector>

#include <sys/types.h>

namespace clmcp::worker {

/// The numbers of all processes that /proc shows now; some may have ended before they are looked
/// at.
[[nodiscard]] std::vector<pid_t> all_processes();

/// The proportional set size of a process in bytes, 0 where it cannot be read: a page that several
/// processes share counts for each by its part, so that the sum over forks is what they all take.
[[nodiscard]] std::size_t memory_of(pid_t pid);

}  // namespace clmcp::worker
