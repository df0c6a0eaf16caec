#pragma once

#include <optional>
#include <string_view>

namespace clmcp::mcp {

/// The revisions of MCP with a handshake, oldest first: `<` means "older than".
enum class Revision { k2024_11_05, k2025_03_26, k2025_06_18, k2025_11_25 };

constexpr Revision kNewestRevision = Revision::k2025_11_25;

/// What a client speaks that has not said so: the contract's own revision.
constexpr Revision kAssumedRevision = Revision::k2025_03_26;

/// As on the wire, "2025-03-26".
[[nodiscard]] std::string_view to_string(Revision revision);

[[nodiscard]] std::optional<Revision> parse_revision(std::string_view text);

}  // namespace clmcp::mcp
