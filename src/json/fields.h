#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "json/value.h"

/// One description of a struct, read in several ways. The struct names its fields once:
///
///     struct Args {
///       std::string code;
///       std::optional<std::string> package;
///
///       void fields(auto& f) {
///         f.need("code", code, "What to evaluate");
///         f.opt("package", package, "Where to read it");
///       }
///     };
///
/// A field is a std::string, bool, std::int64_t or double, or a std::optional of one. A reading is
/// any class with
///
///     need(name, field, doc)               opt(name, optional field, doc)
///     need(name, number, doc, range)       opt(name, optional number, doc, range)
///     need_choice(name, string,            choice(name, optional string,
///                 {choices}, doc)                 {choices}, doc)
///
/// or those of them that its structs use. Two stand here, Schema and Decoder; other folders may
/// write theirs. JSON has one kind of number, so an integer may be written 5 or 5.0.
namespace clmcp::json {

constexpr std::string_view type_name(const std::string& /*field*/) {
  return "string";
}

constexpr std::string_view type_name(bool /*field*/) {
  return "boolean";
}

constexpr std::string_view type_name(std::int64_t /*field*/) {
  return "integer";
}

constexpr std::string_view type_name(double /*field*/) {
  return "number";
}

using Choices = std::initializer_list<std::string_view>;

/// The bounds of a number; both belong to it.
struct Range {
  std::int64_t minimum;
  std::int64_t maximum;
};

/// The reading that writes a JSON Schema.
class Schema {
 public:
  template <typename T>
  void need(std::string_view name, const T& field, std::string_view doc) {
    required_.emplace_back(name);
    add(name, type_name(field), {}, doc);
  }

  template <typename T>
  void opt(std::string_view name, const std::optional<T>& /*field*/, std::string_view doc) {
    add(name, type_name(T()), {}, doc);
  }

  template <typename T>
  void need(std::string_view name, const T& field, std::string_view doc, Range range) {
    required_.emplace_back(name);
    add(name, type_name(field), limits_of(range), doc);
  }

  template <typename T>
  void opt(std::string_view name, const std::optional<T>& /*field*/, std::string_view doc,
           Range range) {
    add(name, type_name(T()), limits_of(range), doc);
  }

  void need_choice(std::string_view name, const std::string& /*field*/, Choices choices,
                   std::string_view doc) {
    required_.emplace_back(name);
    add(name, "string", limits_of(choices), doc);
  }

  void choice(std::string_view name, const std::optional<std::string>& /*field*/, Choices choices,
              std::string_view doc) {
    add(name, "string", limits_of(choices), doc);
  }

  [[nodiscard]] Object take() &&;

 private:
  static Object limits_of(Range range);
  static Object limits_of(Choices choices);
  void add(std::string_view name, std::string_view type, const Object& limits,
           std::string_view doc);

  Array required_;
  Object properties_;
};

/// The reading that takes values out of an object. What is wrong becomes a sentence that names the
/// parameter; the first one counts.
class Decoder {
 public:
  /// `from` must outlive the Decoder.
  explicit Decoder(const Object& from) : from_(from) {}

  template <typename T>
  void need(std::string_view name, T& field, std::string_view /*doc*/) {
    if (const Value* value = find(name)) {
      read(name, *value, field);
    } else {
      missing(name);
    }
  }

  /// A null counts as absent.
  template <typename T>
  void opt(std::string_view name, std::optional<T>& field, std::string_view /*doc*/) {
    if (const Value* value = find(name); value != nullptr && !value->is_null()) {
      read(name, *value, field.emplace());
    }
  }

  template <typename T>
  void need(std::string_view name, T& field, std::string_view /*doc*/, Range range) {
    if (const Value* value = find(name)) {
      read(name, *value, field, range);
    } else {
      missing(name);
    }
  }

  template <typename T>
  void opt(std::string_view name, std::optional<T>& field, std::string_view /*doc*/, Range range) {
    if (const Value* value = find(name); value != nullptr && !value->is_null()) {
      read(name, *value, field.emplace(), range);
    }
  }

  void need_choice(std::string_view name, std::string& field, Choices choices,
                   std::string_view doc);

  void choice(std::string_view name, std::optional<std::string>& field, Choices choices,
              std::string_view doc);

  /// What is wrong with the fields that were read.
  [[nodiscard]] Result<void> check() const;

  /// The same, and anything that was not asked for is wrong too.
  [[nodiscard]] Result<void> check_nothing_else() const;

 private:
  const Value* find(std::string_view name);
  void read(std::string_view name, const Value& value, std::string& field);
  void read(std::string_view name, const Value& value, bool& field);
  void read(std::string_view name, const Value& value, std::int64_t& field);
  void read(std::string_view name, const Value& value, double& field);
  void read(std::string_view name, const Value& value, std::int64_t& field, Range range);
  void read(std::string_view name, const Value& value, double& field, Range range);
  void check_choice(std::string_view name, const std::string& field, Choices choices);
  void missing(std::string_view name);
  void wrong(std::string_view name, std::string_view must_be);

  const Object& from_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

/// The JSON Schema of the struct T.
template <typename T>
[[nodiscard]] Object schema_of() {
  T value{};
  Schema schema;
  value.fields(schema);
  return std::move(schema).take();
}

/// A T with the values of `from`, which may hold nothing else.
template <typename T>
[[nodiscard]] Result<T> decode(const Object& from) {
  T value{};
  Decoder decoder(from);
  value.fields(decoder);
  TRY(decoder.check_nothing_else());
  return value;
}

}  // namespace clmcp::json
