#pragma once

#include <vector>

#include <sys/types.h>

namespace clmcp::worker {

/// The numbers of all processes that /proc shows now; some may have ended before they are looked
/// at.
[[nodiscard]] std::vector<pid_t> all_processes();

}  // namespace clmcp::worker
