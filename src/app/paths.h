#pragma once

#include <filesystem>

namespace clmcp::app {

/// Where the parts of an installation are, found from where the program itself lies: beside it in a
/// build tree, under lib/ and share/ of the same prefix when installed.
struct Paths {
  std::filesystem::path program;
  std::filesystem::path image;
  std::filesystem::path agent;
  std::filesystem::path cache;
  std::filesystem::path journals;
};

[[nodiscard]] Paths find_paths();

}  // namespace clmcp::app
