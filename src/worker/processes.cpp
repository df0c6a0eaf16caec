#include "worker/processes.h"

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <sys/types.h>

namespace clmcp::worker {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec == std::errc()) {
      processes.push_back(pid);
    }
  }
  return processes;
}

}  // namespace clmcp::worker
