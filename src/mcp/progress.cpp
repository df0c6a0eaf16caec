#include "mcp/progress.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/utf8.h"
#include "json/value.h"
#include "mcp/revision.h"

namespace clmcp::mcp {
namespace {

/// Up to here a double holds every integer: 2^53.
constexpr double kExact = 9007199254740992.0;

/// The schema says string or integer, but an integer may come as 5.0. One that has lost digits on
/// its way into a double would come back as another, which helps nobody.
bool can_be_token(const json::Value& value) {
  const double* number = value.if_double();
  return value.is_string() || value.is_int64() || value.is_uint64() ||
         (number != nullptr && std::abs(*number) <= kExact);
}

std::optional<json::Value> find_token(const json::Object& params) {
  const json::Value* meta = params.if_contains("_meta");
  if (meta == nullptr || !meta->is_object()) {
    return std::nullopt;
  }
  const json::Value* token = meta->get_object().if_contains("progressToken");
  if (token == nullptr || !can_be_token(*token)) {
    return std::nullopt;
  }
  return *token;
}

/// Whole numbers as integers: 3 reads better than the 3E0 that a double is printed as.
json::Value to_json(double number) {
  if (std::trunc(number) == number && std::abs(number) <= kExact) {
    return json::Value(static_cast<std::int64_t>(number));
  }
  return json::Value(number);
}

}  // namespace

Progress::Progress(const json::Object& params, Revision revision)
    : token_(find_token(params)), revision_(revision) {}

std::optional<json::Object> Progress::advance(double progress, std::string_view message) {
  if (!token_ || !std::isfinite(progress) || (last_ && progress <= *last_)) {
    return std::nullopt;
  }
  last_ = progress;
  json::Object params;
  params.emplace("progressToken", *token_);
  params.emplace("progress", to_json(progress));
  if (revision_ >= Revision::k2025_03_26 && !message.empty()) {
    params.emplace("message", repair_utf8(message));
  }
  return params;
}

}  // namespace clmcp::mcp
