#pragma once

#include "json/value.h"
#include "mcp/handshake.h"
#include "mcp/revision.h"
#include "mcp/tool.h"
#include "rpc/message.h"
#include "rpc/reply.h"

namespace clmcp::mcp {

/// What is served: the methods of MCP over a set of tools. It knows nothing of clients, so any
/// number of them (mcp/client.h), over any transport, share one.
class Server {
 public:
  Server(ServerInfo info, ToolSet tools);

  /// Answers a request under the rules of `revision`.
  void serve(Revision revision, const rpc::Request& request, rpc::Reply reply);

  [[nodiscard]] const ServerInfo& info() const { return info_; }

  [[nodiscard]] const ToolSet& tools() const { return tools_; }

 private:
  void ping(Revision revision, const json::Object& params, rpc::Reply reply);
  void list_tools(Revision revision, const json::Object& params, rpc::Reply reply);
  void call_tool(Revision revision, const json::Object& params, rpc::Reply reply);

  ServerInfo info_;
  ToolSet tools_;
};

}  // namespace clmcp::mcp
