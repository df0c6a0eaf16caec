#pragma once

#include "mcp/tool.h"
#include "session/session.h"

namespace clmcp::tools {

/// An outcome as people and models read it: sections for what was written, then the error, the text
/// or the values, as the contract shapes them.
[[nodiscard]] mcp::ToolResult outcome_result(const session::Outcome& outcome);

}  // namespace clmcp::tools
