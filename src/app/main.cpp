#include <cstdio>
#include <exception>

#include <fmt/core.h>

#include "app/app.h"
#include "app/exit_code.h"
#include "app/options.h"

int main(int argc, char** argv) {
  using namespace clmcp::app;
  try {
    const auto options = parse_options(argc, argv);
    return static_cast<int>(options ? run(*options) : options.error());
  } catch (const std::exception& error) {
    // What libraries throw when there is no memory or no descriptor left to begin with.
    fmt::print(stderr, "cl-mcp-server: Cannot go on: {}.\n", error.what());
    return static_cast<int>(ExitCode::kSystem);
  }
}
