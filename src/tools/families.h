#pragma once

#include "mcp/tool.h"

/// One function for each family of tools; build_tool_set() puts them in their order.
namespace clmcp::tools {

struct Workshop;

void add_evaluation_tools(mcp::ToolSet& tools, const Workshop& workshop);
void add_definition_tools(mcp::ToolSet& tools, const Workshop& workshop);
void add_reset_tools(mcp::ToolSet& tools, const Workshop& workshop);
void add_system_tools(mcp::ToolSet& tools, const Workshop& workshop);
void add_job_tools(mcp::ToolSet& tools, const Workshop& workshop);
void add_output_tools(mcp::ToolSet& tools, const Workshop& workshop);
void add_checkpoint_tools(mcp::ToolSet& tools, const Workshop& workshop);
void add_session_tools(mcp::ToolSet& tools, const Workshop& workshop);

}  // namespace clmcp::tools
