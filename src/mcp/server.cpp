#include "mcp/server.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "json/value.h"
#include "mcp/handshake.h"
#include "mcp/revision.h"
#include "mcp/tool.h"
#include "mcp/tool_methods.h"
#include "rpc/error.h"
#include "rpc/message.h"
#include "rpc/reply.h"

namespace clmcp::mcp {

Server::Server(ServerInfo info, ToolSet tools) : info_(std::move(info)), tools_(std::move(tools)) {}

void Server::serve(Revision revision, const rpc::Request& request, rpc::Reply reply) {
  struct Method {
    std::string_view name;
    void (Server::*serve)(Revision, const json::Object&, rpc::Reply);
  };

  static constexpr std::array kMethods = {
      Method{"ping", &Server::ping},
      Method{"tools/list", &Server::list_tools},
      Method{"tools/call", &Server::call_tool},
  };
  const auto* const method = std::ranges::find(kMethods, request.method, &Method::name);
  if (method == kMethods.end()) {
    return std::move(reply).error(
        {.code = rpc::Code::kMethodNotFound,
         .message = "Method not found",
         .data = json::Value(fmt::format("Method '{}' is not supported", request.method))});
  }
  (this->*method->serve)(revision, request.params, std::move(reply));
}

void Server::ping(Revision /*revision*/, const json::Object& /*params*/, rpc::Reply reply) {
  std::move(reply).result({});
}

void Server::list_tools(Revision revision, const json::Object& params, rpc::Reply reply) {
  mcp::list_tools(tools_, revision, params, std::move(reply));
}

void Server::call_tool(Revision revision, const json::Object& params, rpc::Reply reply) {
  mcp::call_tool(tools_, revision, params, std::move(reply));
}

}  // namespace clmcp::mcp
