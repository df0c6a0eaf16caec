#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "session/output.h"

namespace clmcp::tools {

/// A stream of a call, and how to ask read-output for it.
struct StreamName {
  std::uint64_t call;
  std::string_view stream;  ///< stdout, stderr or result
};

/// What was written to `log` from the byte `from` on, within `budget` characters: whole, or its
/// head and its tail with a line between that says how to read the rest.
[[nodiscard]] std::string excerpt_of(const session::OutputLog& log, std::uint64_t from,
                                     std::size_t budget, const StreamName& name);

/// A text within `budget` characters, for what is kept nowhere.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t budget);

/// Divides `budget` among those who want some of it: whoever wants little gets all of that, and the
/// others get as much as each other.
[[nodiscard]] std::vector<std::size_t> shares(const std::vector<std::size_t>& wanted,
                                              std::size_t budget);

/// A number for people: 1,234,567.
[[nodiscard]] std::string grouped(std::uint64_t number);

}  // namespace clmcp::tools
