#pragma once

#include <cstddef>

#include "base/limits.h"
#include "mcp/tool.h"
#include "session/session.h"

namespace clmcp::tools {

/// An outcome as people and models read it: sections for what was written, then the error, the text
/// or the values, as the contract shapes them. Within `budget` characters (limits.h bounds it):
/// what is large shows its beginning and its end, and its whole can be had from read-output.
[[nodiscard]] mcp::ToolResult outcome_result(const session::Outcome& outcome,
                                             std::size_t budget = limits::kReplyCharacters);

}  // namespace clmcp::tools
