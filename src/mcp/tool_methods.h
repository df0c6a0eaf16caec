#pragma once

#include "json/value.h"
#include "mcp/revision.h"
#include "mcp/tool.h"
#include "rpc/reply.h"

/// `tools/list` and `tools/call`.
namespace clmcp::mcp {

void list_tools(const ToolSet& tools, Revision revision, const json::Object& params,
                rpc::Reply reply);

void call_tool(ToolSet& tools, Revision revision, const json::Object& params, rpc::Reply reply);

}  // namespace clmcp::mcp
