#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Text that may be any bytes. A byte that is not part of well-formed UTF-8 counts as a character
/// of its own, as repair_utf8() makes one of it.
namespace clmcp {

/// No character is longer.
constexpr std::size_t kCharacterBytes = 4;

/// Whether a byte can only stand inside a character.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD. What Lisp code
/// writes may be any bytes; what we send must be text.
[[nodiscard]] std::string repair_utf8(std::string_view text);

/// Characters in `text`.
[[nodiscard]] std::size_t count_characters(std::string_view text);

/// Its first `characters` characters, all of it where it has fewer. Looks at no more than these.
[[nodiscard]] std::string_view first_characters(std::string_view text, std::size_t characters);

/// Its last `characters` characters.
[[nodiscard]] std::string_view last_characters(std::string_view text, std::size_t characters);

/// Whether it has more than `characters` characters. Looks at no more than these.
[[nodiscard]] bool is_longer_than(std::string_view text, std::size_t characters);

}  // namespace clmcp
