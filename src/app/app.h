#pragma once

#include <memory>

#include "app/exit_code.h"
#include "app/options.h"

namespace clmcp::app {

/// Runs the program as the options say, to its end.
[[nodiscard]] ExitCode run(const Options& options);

}  // namespace clmcp::app
