#include "base/utf8.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace clmcp {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

bool continues(unsigned byte) {
  return (byte & 0xC0U) == 0x80U;
}

/// Length of the well-formed character at the front of `text`; 0 where there is none. The bounds on
/// the second byte keep out overlong forms, surrogates and what lies beyond U+10FFFF.
std::size_t character_length(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  const unsigned second = byte_at(text, 1);
  if (first < 0x80U) {
    return 1;
  }
  if (first >= 0xC2U && first <= 0xDFU) {
    return continues(second) ? 2 : 0;
  }
  if (first >= 0xE0U && first <= 0xEFU) {
    const unsigned low = first == 0xE0U ? 0xA0U : 0x80U;
    const unsigned high = first == 0xEDU ? 0x9FU : 0xBFU;
    return second >= low && second <= high && continues(byte_at(text, 2)) ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const unsigned low = first == 0xF0U ? 0x90U : 0x80U;
    const unsigned high = first == 0xF4U ? 0x8FU : 0xBFU;
    const bool good = second >= low && second <= high && continues(byte_at(text, 2)) &&
                      continues(byte_at(text, 3));
    return good ? 4 : 0;
  }
  return 0;
}

/// Bytes from the character at `at` to the next.
std::size_t step_at(std::string_view text, std::size_t at) {
  return std::max<std::size_t>(character_length(text.substr(at, kCharacterBytes)), 1);
}

}  // namespace

std::string repair_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  std::size_t at = 0;
  std::size_t copied = 0;  // What is well-formed is copied in long runs: output may be megabytes.
  while (at < text.size()) {
    const std::size_t length = character_length(text.substr(at, 4));
    if (length == 0) {
      repaired += text.substr(copied, at - copied);
      repaired += kReplacement;
      copied = at + 1;
    }
    at += std::max<std::size_t>(length, 1);
  }
  repaired += text.substr(copied);
  return repaired;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += step_at(text, at)) {
    ++count;
  }
  return count;
}

std::string_view first_characters(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  for (; at < text.size() && characters > 0; --characters) {
    at += step_at(text, at);
  }
  return text.substr(0, at);
}

std::string_view last_characters(std::string_view text, std::size_t characters) {
  if (text.size() / kCharacterBytes > characters) {
    text.remove_prefix(text.size() - (characters + 1) * kCharacterBytes);
    // Where that is inside a character, the rest of it is dropped with what comes before.
    for (std::size_t i = 1; i < kCharacterBytes && continues_character(text.front()); ++i) {
      text.remove_prefix(1);
    }
  }
  const std::size_t count = count_characters(text);
  const std::size_t dropped = count > characters ? count - characters : 0;
  return text.substr(first_characters(text, dropped).size());
}

bool is_longer_than(std::string_view text, std::size_t characters) {
  return first_characters(text, characters).size() < text.size();
}

}  // namespace clmcp
