#include "json/fields.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/result.h"
#include "json/value.h"

namespace clmcp::json {
namespace {

/// 'a', 'b', 'c'
std::string quoted(const auto& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

/// JSON has one kind of number: what some clients send as 30.0 is the integer 30.
std::optional<std::int64_t> integer_of(const Value& value) {
  if (const std::int64_t* integer = value.if_int64()) {
    return *integer;
  }
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63, the first one that does not fit
  const double* number = value.if_double();
  if (number == nullptr || std::trunc(*number) != *number || *number < -kBeyond ||
      *number >= kBeyond) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

/// Beyond the largest double lies infinity, which is no JSON number.
std::optional<double> number_of(const Value& value) {
  boost::system::error_code error;
  const auto number = value.to_number<double>(error);
  return error || !std::isfinite(number) ? std::nullopt : std::optional(number);
}

}  // namespace

Object Schema::limits_of(Range range) {
  return {{"minimum", range.minimum}, {"maximum", range.maximum}};
}

Object Schema::limits_of(Choices choices) {
  return {{"enum", Array(choices.begin(), choices.end())}};
}

void Schema::add(std::string_view name, std::string_view type, const Object& limits,
                 std::string_view doc) {
  Object property;
  property.emplace("type", type);
  property.insert(limits.begin(), limits.end());
  property.emplace("description", doc);
  properties_.emplace(name, std::move(property));
}

Object Schema::take() && {
  Object schema;
  schema.emplace("type", "object");
  if (!required_.empty()) {
    schema.emplace("required", std::move(required_));
  }
  schema.emplace("properties", std::move(properties_));
  return schema;
}

void Decoder::choice(std::string_view name, std::optional<std::string>& field, Choices choices,
                     std::string_view doc) {
  opt(name, field, doc);
  if (field) {
    check_choice(name, *field, choices);
  }
}

void Decoder::need_choice(std::string_view name, std::string& field, Choices choices,
                          std::string_view doc) {
  need(name, field, doc);
  check_choice(name, field, choices);
}

void Decoder::check_choice(std::string_view name, const std::string& field, Choices choices) {
  if (std::ranges::find(choices, field) == choices.end()) {
    wrong(name, fmt::format("one of {}", quoted(choices)));
  }
}

Result<void> Decoder::check() const {
  if (error_) {
    return std::unexpected(*error_);
  }
  return {};
}

Result<void> Decoder::check_nothing_else() const {
  TRY(check());
  for (const auto& [key, value] : from_) {
    const std::string_view name = key;
    if (std::ranges::find(known_, name) == known_.end()) {
      const std::string known = known_.empty()
                                    ? "there are no parameters"
                                    : fmt::format("known parameters: {}", quoted(known_));
      return std::unexpected(
          Error{.code = ErrorCode::kInvalid,
                .message = fmt::format("unknown parameter '{}'; {}", name, known)});
    }
  }
  return {};
}

const Value* Decoder::find(std::string_view name) {
  known_.push_back(name);
  return from_.if_contains(name);
}

void Decoder::read(std::string_view name, const Value& value, std::string& field) {
  if (const auto* text = value.if_string()) {
    field.assign(text->data(), text->size());
  } else {
    wrong(name, "a string");
  }
}

void Decoder::read(std::string_view name, const Value& value, bool& field) {
  if (const bool* flag = value.if_bool()) {
    field = *flag;
  } else {
    wrong(name, "a boolean");
  }
}

void Decoder::read(std::string_view name, const Value& value, std::int64_t& field) {
  if (const auto integer = integer_of(value)) {
    field = *integer;
  } else {
    wrong(name, "an integer");
  }
}

void Decoder::read(std::string_view name, const Value& value, double& field) {
  if (const auto number = number_of(value)) {
    field = *number;
  } else {
    wrong(name, "a number");
  }
}

void Decoder::read(std::string_view name, const Value& value, std::int64_t& field, Range range) {
  const auto integer = integer_of(value);
  if (integer && *integer >= range.minimum && *integer <= range.maximum) {
    field = *integer;
  } else {
    wrong(name, fmt::format("an integer from {} to {}", range.minimum, range.maximum));
  }
}

void Decoder::read(std::string_view name, const Value& value, double& field, Range range) {
  const auto number = number_of(value);
  if (number && *number >= static_cast<double>(range.minimum) &&
      *number <= static_cast<double>(range.maximum)) {
    field = *number;
  } else {
    wrong(name, fmt::format("a number from {} to {}", range.minimum, range.maximum));
  }
}

void Decoder::missing(std::string_view name) {
  if (!error_) {
    error_ = Error{.code = ErrorCode::kInvalid,
                   .message = fmt::format("missing required parameter '{}'", name)};
  }
}

void Decoder::wrong(std::string_view name, std::string_view must_be) {
  if (!error_) {
    error_ = Error{.code = ErrorCode::kInvalid,
                   .message = fmt::format("parameter '{}' must be {}", name, must_be)};
  }
}

}  // namespace clmcp::json
