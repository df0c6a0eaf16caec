#include "mcp/client.h"

#include <utility>

#include "json/value.h"
#include "mcp/handshake.h"
#include "mcp/revision.h"
#include "mcp/server.h"
#include "rpc/error.h"
#include "rpc/message.h"
#include "rpc/reply.h"

namespace clmcp::mcp {

Client::Client(Server& server) : server_(server), peer_(*this) {
  speak(kAssumedRevision);
}

void Client::on_request(const rpc::Request& request, rpc::Reply reply) {
  if (request.method == "initialize") {
    return initialize(request, std::move(reply));
  }
  // The revision goes along with each request: those of later revisions name their own.
  server_.serve(revision_, request, std::move(reply));
}

void Client::on_notification(const rpc::Notification& notification) {
  // Nothing follows from notifications/initialized, and unknown ones are to be ignored.
  if (notification.method != "notifications/cancelled") {
    return;
  }
  if (const json::Value* id = notification.params.if_contains("requestId")) {
    if (const auto request = rpc::read_id(*id)) {
      peer_.cancel(*request);
    }
  }
}

/// It may come at any time, and again.
void Client::initialize(const rpc::Request& request, rpc::Reply reply) {
  if (request.batched) {
    return std::move(reply).error(rpc::invalid_request("'initialize' must not be in a batch"));
  }
  auto handshake = shake_hands(request.params, server_.info());
  if (!handshake) {
    return std::move(reply).error(std::move(handshake).error());
  }
  speak(handshake->revision);
  std::move(reply).result(std::move(handshake->result));
}

void Client::speak(Revision revision) {
  revision_ = revision;
  peer_.speak(dialect_of(revision));
}

}  // namespace clmcp::mcp
