#include "mcp/revision.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace clmcp::mcp {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                    "2025-11-25"};

}  // namespace

std::string_view to_string(Revision revision) {
  return kNames.at(static_cast<std::size_t>(revision));
}

std::optional<Revision> parse_revision(std::string_view text) {
  const auto* const found = std::ranges::find(kNames, text);
  if (found == kNames.end()) {
    return std::nullopt;
  }
  return static_cast<Revision>(found - kNames.begin());
}

}  // namespace clmcp::mcp
