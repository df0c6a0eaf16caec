#include "rpc/peer.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "json/value.h"
#include "rpc/error.h"
#include "rpc/exchange.h"
#include "rpc/message.h"

namespace clmcp::rpc {
namespace {

/// Why this array is no batch; empty for one that is.
std::string find_fault(const json::Array& batch, const Dialect& dialect) {
  if (!dialect.batch_refusal.empty()) {
    return std::string(dialect.batch_refusal);
  }
  if (batch.empty()) {
    return "A batch must not be empty";
  }
  if (batch.size() > limits::kBatchMessages) {
    return fmt::format("A batch may hold at most {} messages", limits::kBatchMessages);
  }
  return {};
}

}  // namespace

void Peer::receive(std::string_view text, Sink sink) {
  auto value = json::parse(text);
  if (!value) {
    return refuse(value.error(), std::move(sink));
  }
  if (json::Array* batch = value->if_array()) {
    return receive_batch(std::move(*batch), std::move(sink));
  }
  dispatch(classify(*std::move(value)),
           std::make_shared<Exchange>(std::move(sink), Exchange::Shape::kSingle));
}

void Peer::refuse(const clmcp::Error& why, Sink sink) const {
  sink(print_error(std::nullopt, to_rpc(why), dialect_.no_id), Part::kAnswer);
}

void Peer::receive_batch(json::Array batch, Sink sink) {
  const std::string fault = find_fault(batch, dialect_);
  if (!fault.empty()) {
    sink(print_error(std::nullopt, invalid_request(fault), dialect_.no_id), Part::kAnswer);
    return;
  }
  const auto exchange = std::make_shared<Exchange>(std::move(sink), Exchange::Shape::kBatch);
  exchange->expect();  // Keeps it open until all messages have been handed on.
  for (json::Value& value : batch) {
    Message message = classify(std::move(value));
    if (auto* request = std::get_if<Request>(&message)) {
      request->batched = true;
    }
    dispatch(message, exchange);
  }
  exchange->give_up();
}

void Peer::dispatch(const Message& message, const std::shared_ptr<Exchange>& exchange) {
  if (const auto* request = std::get_if<Request>(&message)) {
    handler_.on_request(*request, in_flight_->open(request->id, exchange));
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    handler_.on_notification(*notification);
  } else if (const auto* invalid = std::get_if<Invalid>(&message)) {
    exchange->expect();
    exchange->answer(print_error(invalid->id, invalid->error, dialect_.no_id));
  }
}

}  // namespace clmcp::rpc
