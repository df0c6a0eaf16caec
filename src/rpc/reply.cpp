#include "rpc/reply.h"

#include <cstdint>
#include <expected>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "json/value.h"
#include "rpc/error.h"
#include "rpc/in_flight.h"
#include "rpc/message.h"

namespace clmcp::rpc {

Reply::Reply(std::weak_ptr<InFlight> requests, std::uint64_t ticket)
    : requests_(std::move(requests)), ticket_(ticket) {}

Reply::~Reply() {
  settle(std::unexpected(Error{.code = Code::kInternalError, .message = "Internal error"}));
}

Reply& Reply::operator=(Reply&& other) noexcept {
  // The temporary takes what we held along and answers it.
  Reply old(std::move(other));
  std::swap(requests_, old.requests_);
  std::swap(ticket_, old.ticket_);
  return *this;
}

void Reply::notify(std::string_view method, json::Object params) const {
  if (const auto requests = requests_.lock()) {
    requests->notify(ticket_, method, std::move(params));
  }
}

void Reply::result(json::Object result) && {
  settle(std::move(result));
}

void Reply::error(Error error) && {
  settle(std::unexpected(std::move(error)));
}

void Reply::on_cancel(Callback call) {
  const auto requests = requests_.lock();
  if (!requests || !requests->on_cancel(ticket_, call)) {
    call();
  }
}

void Reply::settle(Outcome outcome) {
  if (const auto requests = std::exchange(requests_, {}).lock()) {
    requests->settle(ticket_, std::move(outcome));
  }
}

}  // namespace clmcp::rpc
