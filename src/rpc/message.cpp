#include "rpc/message.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "json/value.h"
#include "rpc/error.h"

namespace clmcp::rpc {
namespace {

json::Object envelope() {
  json::Object object;
  object.emplace("jsonrpc", "2.0");
  return object;
}

json::Value to_json(const Id& id) {
  return std::visit([](const auto& value) { return json::Value(value); }, id);
}

/// What is wrong with the envelope; empty for a sound one.
std::string find_fault(const json::Object& message, bool id_is_sound) {
  const json::Value* version = message.if_contains("jsonrpc");
  if (version == nullptr) {
    return "Missing required field: jsonrpc";
  }
  if (*version != "2.0") {
    return "Field 'jsonrpc' must be '2.0'";
  }
  if (!id_is_sound) {
    return "Field 'id' must be a string or an integer";
  }
  const json::Value* method = message.if_contains("method");
  if (method == nullptr) {
    return "Missing required field: method";
  }
  if (!method->is_string()) {
    return "Field 'method' must be a string";
  }
  const json::Value* params = message.if_contains("params");
  if (params != nullptr && !params->is_object() && !params->is_null()) {
    return "Field 'params' must be an object";
  }
  return {};
}

/// A response with a faulty envelope is still none of our business: answering it with an error
/// could start a ping-pong of errors.
bool is_response(const json::Object& message) {
  return !message.contains("method") && (message.contains("result") || message.contains("error"));
}

/// Some clients write null for "none".
json::Object take_params(json::Object& message) {
  json::Value* params = message.if_contains("params");
  return params != nullptr && params->is_object() ? std::move(params->get_object())
                                                  : json::Object();
}

}  // namespace

std::optional<Id> read_id(const json::Value& value) {
  if (const auto* integer = value.if_int64()) {
    return *integer;
  }
  if (const auto* integer = value.if_uint64()) {
    return *integer;
  }
  if (const auto* text = value.if_string()) {
    return std::string(text->data(), text->size());
  }
  return std::nullopt;
}

Message classify(json::Value value) {
  json::Object* message = value.if_object();
  if (message == nullptr) {
    return Invalid{.id = std::nullopt, .error = invalid_request("A message must be an object")};
  }
  if (is_response(*message)) {
    return Response{};
  }
  const json::Value* raw_id = message->if_contains("id");
  std::optional<Id> id = raw_id == nullptr ? std::nullopt : read_id(*raw_id);
  const std::string fault = find_fault(*message, raw_id == nullptr || id.has_value());
  if (!fault.empty()) {
    return Invalid{.id = std::move(id), .error = invalid_request(fault)};
  }
  const std::string_view method = message->if_contains("method")->get_string();
  json::Object params = take_params(*message);
  if (!id) {
    return Notification{.method = std::string(method), .params = std::move(params)};
  }
  return Request{.id = *std::move(id), .method = std::string(method), .params = std::move(params)};
}

std::string print_reply(const Id& id, Outcome outcome) {
  json::Object reply = envelope();
  reply.emplace("id", to_json(id));
  if (outcome) {
    reply.emplace("result", *std::move(outcome));
  } else {
    reply.emplace("error", to_json(outcome.error()));
  }
  return json::print(reply);
}

std::string print_notification(std::string_view method, json::Object params) {
  json::Object notification = envelope();
  notification.emplace("method", method);
  notification.emplace("params", std::move(params));
  return json::print(notification);
}

std::string print_error(const std::optional<Id>& id, const Error& error, NoId no_id) {
  json::Object reply = envelope();
  if (id) {
    reply.emplace("id", to_json(*id));
  } else if (no_id == NoId::kNull) {
    reply.emplace("id", nullptr);
  }
  reply.emplace("error", to_json(error));
  return json::print(reply);
}

}  // namespace clmcp::rpc
