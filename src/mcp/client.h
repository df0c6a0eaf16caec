#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "mcp/revision.h"
#include "rpc/exchange.h"
#include "rpc/message.h"
#include "rpc/peer.h"
#include "rpc/reply.h"

namespace clmcp::mcp {

class Server;

/// One client of a Server: the revision it asked for, and its requests in flight. Owned by its
/// connection (one per stdio process, one per HTTP session). When it goes, requests in flight are
/// not cancelled, but their answers go nowhere.
class Client final : private rpc::Handler {
 public:
  explicit Client(Server& server);

  /// Takes one message or batch. Its answer goes to `sink`, now or later, in one piece, and before
  /// it what the client is told of its requests; the sink is not called where there is nothing to
  /// say.
  void receive(std::string_view text, rpc::Sink sink) { peer_.receive(text, std::move(sink)); }

  /// Answers a text that could not even be taken in, such as one that was too long.
  void refuse(const Error& why, rpc::Sink sink) const { peer_.refuse(why, std::move(sink)); }

  /// How many requests are not answered yet.
  [[nodiscard]] std::size_t in_flight() const { return peer_.in_flight(); }

  [[nodiscard]] Revision revision() const { return revision_; }

 private:
  void on_request(const rpc::Request& request, rpc::Reply reply) override;
  void on_notification(const rpc::Notification& notification) override;
  void initialize(const rpc::Request& request, rpc::Reply reply);
  void speak(Revision revision);

  Server& server_;
  Revision revision_ = kAssumedRevision;
  rpc::Peer peer_;
};

}  // namespace clmcp::mcp
