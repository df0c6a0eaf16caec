#pragma once

#include <string>
#include <utility>

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"
#include "worker/reaper.h"

namespace clmcp::worker {

/// A small process that outlives us when we are killed, ends everything that our workers started,
/// and goes. A worker asks the kernel to die with us, but its own children do not: programs it
/// runs, and copies of itself that user code forks. They are known by a token in their environment.
class Guardian {
 public:
  [[nodiscard]] static Result<Guardian> start(Reaper& reaper);

  /// What belongs into the environment of whatever is to be guarded.
  [[nodiscard]] const std::string& token() const { return token_; }

  static constexpr const char* kVariable = "CL_MCP_GUARD";

 private:
  Guardian(std::string token, Fd lifeline)
      : token_(std::move(token)), lifeline_(std::move(lifeline)) {}

  std::string token_;
  Fd lifeline_;  // Nobody else has it; it closes with us, however we end.
};

}  // namespace clmcp::worker
