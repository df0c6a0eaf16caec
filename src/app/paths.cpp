#include "app/paths.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <pwd.h>
#include <unistd.h>

namespace clmcp::app {
namespace {

namespace fs = std::filesystem;

/// The value of an environment variable; empty where it is not set.
std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

/// Our directory among those of one kind: below what the variable says, or below the home.
fs::path user_directory(const char* variable, const fs::path& below_home) {
  if (const std::string_view xdg = environment(variable); xdg.starts_with('/')) {
    return fs::path(xdg) / "cl-mcp-server";
  }
  if (const std::string_view home = environment("HOME"); !home.empty()) {
    return fs::path(home) / below_home / "cl-mcp-server";
  }
  // Never a place that others can write to: what is kept there is run.
  const passwd* user = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): one thread
  return fs::path(user == nullptr ? "/" : user->pw_dir) / below_home / "cl-mcp-server";
}

/// The first that exists; the last where none does, to be named in the error.
fs::path first_existing(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::exists(one, error) ? one : other;
}

}  // namespace

Paths find_paths() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path directory = program.parent_path();
  const fs::path prefix = directory.parent_path();
  // Two levels up for the sanitized build, which lies inside the ordinary one.
  const fs::path source = first_existing(prefix / "agent" / "build.lisp",
                                         prefix.parent_path() / "agent" / "build.lisp");
  return {
      .program = program,
      .image = first_existing(directory / "cl-mcp-worker",
                              prefix / "lib" / "cl-mcp-server" / "cl-mcp-worker"),
      .agent = first_existing(prefix / "share" / "cl-mcp-server" / "agent", source.parent_path()),
      .cache = user_directory("XDG_CACHE_HOME", ".cache"),
      .journals = user_directory("XDG_STATE_HOME", fs::path(".local") / "state") / "journals"};
}

}  // namespace clmcp::app
