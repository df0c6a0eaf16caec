#include "worker/processes.h"

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <fmt/format.h>

#include "base/limits.h"

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

Kinship kinship_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // "pid (command) state parent group session …", where the command may hold spaces and
  // parentheses.
  const std::size_t command_end = line.rfind(')');
  if (command_end == std::string::npos) {
    return {};
  }
  std::istringstream rest(line.substr(command_end + 1));
  char state = 0;
  Kinship kinship;
  rest >> state >> kinship.parent >> kinship.group >> kinship.session;
  return rest ? kinship : Kinship{};
}

std::string environment_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  std::ostringstream environment;
  environment << file.rdbuf();
  return std::move(environment).str();
}

std::size_t memory_of(pid_t pid) {
  constexpr std::string_view kField = "Pss:";
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kField)) {
      return std::strtoull(line.c_str() + kField.size(), nullptr, 10) * limits::kKiB;
    }
  }
  return 0;
}

}  // namespace clmcp::worker
