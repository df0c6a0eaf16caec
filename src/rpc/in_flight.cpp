#include "rpc/in_flight.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "rpc/exchange.h"
#include "rpc/message.h"
#include "rpc/reply.h"

namespace clmcp::rpc {

Reply InFlight::open(Id id, std::shared_ptr<Exchange> exchange) {
  exchange->expect();
  const std::uint64_t ticket = ++last_ticket_;
  entries_.emplace_hint(
      entries_.end(), ticket,
      Entry{.id = std::move(id), .exchange = std::move(exchange), .on_cancel = nullptr});
  return {weak_from_this(), ticket};
}

void InFlight::notify(std::uint64_t ticket, std::string_view method, json::Object params) {
  if (const auto found = entries_.find(ticket); found != entries_.end()) {
    // A copy: the sink may find that the client is gone, and end the request under us.
    const std::shared_ptr<Exchange> exchange = found->second.exchange;
    exchange->notify(print_notification(method, std::move(params)));
  }
}

void InFlight::settle(std::uint64_t ticket, Outcome outcome) {
  if (const auto node = entries_.extract(ticket)) {
    const Entry& entry = node.mapped();
    entry.exchange->answer(print_reply(entry.id, std::move(outcome)));
  }
}

bool InFlight::on_cancel(std::uint64_t ticket, Callback& call) {
  const auto found = entries_.find(ticket);
  if (found == entries_.end()) {
    return false;
  }
  found->second.on_cancel = std::move(call);
  return true;
}

void InFlight::cancel(const Id& id) {
  // Taken out first: the callbacks may answer, drop or open requests.
  std::vector<Entry> cancelled;
  for (auto at = entries_.begin(); at != entries_.end();) {
    if (at->second.id == id) {
      cancelled.push_back(std::move(at->second));
      at = entries_.erase(at);
    } else {
      ++at;
    }
  }
  for (Entry& entry : cancelled) {
    entry.exchange->give_up();
    if (entry.on_cancel) {
      entry.on_cancel();
    }
  }
}

}  // namespace clmcp::rpc
