#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/value.h"

namespace clmcp::rpc {

/// The codes of JSON-RPC 2.0. There is no default: whoever makes an Error chooses.
enum class Code {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
};

/// What a request is answered with when the protocol itself went wrong. A tool that fails answers
/// with a result instead.
struct Error {
  Code code;
  std::string message;
  std::optional<json::Value> data = std::nullopt;
};

/// -32600 `Invalid Request`, with what is wrong with it.
[[nodiscard]] Error invalid_request(std::string_view why);

/// The one place where our own errors become those of JSON-RPC.
[[nodiscard]] Error to_rpc(const clmcp::Error& error);

[[nodiscard]] json::Object to_json(const Error& error);

}  // namespace clmcp::rpc
