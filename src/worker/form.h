#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace clmcp::worker {

struct Nil {
  bool operator==(const Nil&) const = default;
};

struct True {
  bool operator==(const True&) const = default;
};

struct Keyword {
  std::string name;  // without the colon
  bool operator==(const Keyword&) const = default;
};

/// A piece of the agent protocol: the subset of Lisp syntax of AGENT-PROTOCOL.md.
struct Form {
  using List = std::vector<Form>;

  std::variant<Nil, True, std::int64_t, Keyword, std::string, List> value;

  bool operator==(const Form&) const = default;

  /// The parts, where this is such a form; null where it is another kind.
  [[nodiscard]] const std::string* string() const { return std::get_if<std::string>(&value); }

  [[nodiscard]] const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value); }

  [[nodiscard]] const Keyword* keyword() const { return std::get_if<Keyword>(&value); }

  [[nodiscard]] const List* list() const { return std::get_if<List>(&value); }
};

/// The form after `key` in a property list that starts at `from`; null where there is none.
[[nodiscard]] const Form* find_property(const Form::List& list, std::string_view key,
                                        std::size_t from);

[[nodiscard]] std::string print_form(const Form& form);

/// Reads exactly one form. What comes from a worker may be anything: user code can write to any
/// descriptor it likes.
[[nodiscard]] Result<Form> parse_form(std::string_view text);

}  // namespace clmcp::worker
