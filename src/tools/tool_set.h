#pragma once

#include <string>
#include <string_view>

#include "mcp/tool.h"
#include "tools/call.h"

namespace clmcp::tools {

/// All tools, in the order in which clients see them. The sessions must outlive the set.
[[nodiscard]] mcp::ToolSet build_tool_set(const Workshop& workshop);

/// How to use the REPL well, for the agent that connects. Clients cut it at 2,048 characters.
[[nodiscard]] std::string_view instructions();

/// The reference page of the tools, in Markdown: docs/TOOLS.md.
[[nodiscard]] std::string reference_page(const mcp::ToolSet& tools);

}  // namespace clmcp::tools
