#include "rpc/error.h"

#include <string_view>

#include "base/error.h"
#include "json/value.h"

namespace clmcp::rpc {

Error invalid_request(std::string_view why) {
  return {.code = Code::kInvalidRequest, .message = "Invalid Request", .data = json::Value(why)};
}

Error to_rpc(const clmcp::Error& error) {
  switch (error.code) {
    case ErrorCode::kSyntax:
      return {
          .code = Code::kParseError, .message = "Parse error", .data = json::Value(error.message)};
    case ErrorCode::kLimit:
      return invalid_request(error.message);
    case ErrorCode::kInvalid:
    case ErrorCode::kNotFound:
      return {.code = Code::kInvalidParams, .message = "Invalid params: " + error.message};
    case ErrorCode::kSystem:
    case ErrorCode::kUnavailable:
      break;
  }
  return {.code = Code::kInternalError,
          .message = "Internal error",
          .data = json::Value(error.message)};
}

json::Object to_json(const Error& error) {
  json::Object object;
  object.emplace("code", static_cast<int>(error.code));
  object.emplace("message", error.message);
  if (error.data) {
    object.emplace("data", *error.data);
  }
  return object;
}

}  // namespace clmcp::rpc
