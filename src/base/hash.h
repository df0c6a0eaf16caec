#pragma once

#include <cstdint>
#include <string_view>

namespace clmcp {

constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325U;

/// FNV-1a, going on from `before`: a name for some bytes, not a defence against anybody.
[[nodiscard]] constexpr std::uint64_t hash(std::string_view bytes,
                                           std::uint64_t before = kHashOfNothing) {
  for (const char c : bytes) {
    before = (before ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return before;
}

}  // namespace clmcp
