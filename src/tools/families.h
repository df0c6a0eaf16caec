#pragma once

#include "mcp/tool.h"
#include "session/sessions.h"

/// One function for each family of tools; build_tool_set() puts them in their order.
namespace clmcp::tools {

void add_evaluation_tools(mcp::ToolSet& tools, session::Sessions& sessions);
void add_definition_tools(mcp::ToolSet& tools, session::Sessions& sessions);
void add_session_tools(mcp::ToolSet& tools, session::Sessions& sessions);
void add_system_tools(mcp::ToolSet& tools, session::Sessions& sessions);
void add_output_tools(mcp::ToolSet& tools, session::Sessions& sessions);

}  // namespace clmcp::tools
