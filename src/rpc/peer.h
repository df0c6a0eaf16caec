#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/interface.h"
#include "json/value.h"
#include "rpc/exchange.h"
#include "rpc/in_flight.h"
#include "rpc/message.h"
#include "rpc/reply.h"

namespace clmcp::rpc {

/// What stands above JSON-RPC: it gets whole messages and owes each request an answer.
class Handler : public Interface {
 public:
  virtual void on_request(const Request& request, Reply reply) = 0;
  virtual void on_notification(const Notification& notification) = 0;
};

/// Where revisions of the protocol above differ in the envelope.
struct Dialect {
  NoId no_id = NoId::kNull;
  std::string_view batch_refusal;  ///< why arrays are refused; empty where they are served
};

/// One client at the level of JSON-RPC: takes its texts apart, hands the messages on and brings the
/// answers back, each to where its request came from.
class Peer {
 public:
  explicit Peer(Handler& handler) : handler_(handler) {}

  void speak(Dialect dialect) { dialect_ = dialect; }

  /// Takes one message or batch. Its answer goes to `sink`, now or later, in one piece, and before
  /// it what the client is told of its requests.
  void receive(std::string_view text, Sink sink);

  /// Answers a text that could not even be taken in.
  void refuse(const clmcp::Error& why, Sink sink) const;

  void cancel(const Id& id) { in_flight_->cancel(id); }

  [[nodiscard]] std::size_t in_flight() const { return in_flight_->size(); }

 private:
  void receive_batch(json::Array batch, Sink sink);
  void dispatch(const Message& message, const std::shared_ptr<Exchange>& exchange);

  Handler& handler_;
  Dialect dialect_;
  std::shared_ptr<InFlight> in_flight_ = std::make_shared<InFlight>();
};

}  // namespace clmcp::rpc
