#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "json/value.h"
#include "rpc/error.h"

namespace clmcp::rpc {

/// The id of a request, which comes back exactly as it was. The unsigned form holds only what is
/// beyond the signed one.
using Id = std::variant<std::int64_t, std::uint64_t, std::string>;

/// Nothing for what cannot be an id: null, fractions, integers beyond 64 bits, objects and so on.
[[nodiscard]] std::optional<Id> read_id(const json::Value& value);

struct Request {
  Id id;
  std::string method;
  json::Object params;  ///< empty where the message has none
  bool batched = false;
};

struct Notification {
  std::string method;
  json::Object params;
};

/// An answer of the client. We ask nothing yet, so there is nothing to match it with.
struct Response {};

/// A message that is none, and what to answer: with its id where that can be read.
struct Invalid {
  std::optional<Id> id;
  Error error;
};

using Message = std::variant<Request, Notification, Response, Invalid>;

/// What a single message (not a batch) is.
[[nodiscard]] Message classify(json::Value value);

/// How a request ended.
using Outcome = std::expected<json::Object, Error>;

/// The text of the answer to a request.
[[nodiscard]] std::string print_reply(const Id& id, Outcome outcome);

/// The text of a notification.
[[nodiscard]] std::string print_notification(std::string_view method, json::Object params);

/// How an error says that it could not read an id. MCP's schema forbids null from 2025-11-25 on.
enum class NoId { kNull, kLeftOut };

/// The text of the answer to something that was no request.
[[nodiscard]] std::string print_error(const std::optional<Id>& id, const Error& error, NoId no_id);

}  // namespace clmcp::rpc
