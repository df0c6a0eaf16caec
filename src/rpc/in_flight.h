#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"
#include "rpc/exchange.h"
#include "rpc/message.h"
#include "rpc/reply.h"

namespace clmcp::rpc {

/// The requests of one client that are not answered yet. Each has a ticket, since a careless client
/// may use an id twice. Owned by the Peer; Replies hold it weakly, so that they may outlive it.
class InFlight : public std::enable_shared_from_this<InFlight> {
 public:
  /// Takes a request in. Its answer goes to `exchange`.
  [[nodiscard]] Reply open(Id id, std::shared_ptr<Exchange> exchange);

  /// Tells the client something about the request, unless it has been answered or cancelled.
  void notify(std::uint64_t ticket, std::string_view method, json::Object params);

  /// Answers the request, unless it has been cancelled.
  void settle(std::uint64_t ticket, Outcome outcome);

  /// Keeps `call` for a cancellation. False, and `call` is untouched, if that has been already.
  [[nodiscard]] bool on_cancel(std::uint64_t ticket, Callback& call);

  /// Forgets every request with this id: nothing will be sent for it any more.
  void cancel(const Id& id);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Id id;
    std::shared_ptr<Exchange> exchange;  // shared by the requests of one batch
    Callback on_cancel;
  };

  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, Entry> entries_;
};

}  // namespace clmcp::rpc
