#include "app/balance.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace clmcp::app {
namespace {

/// Where a string or |symbol| that begins at `at` ends; the end of the text where it does not.
std::size_t skip_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at) {
    if (text[at] == '\\') {
      ++at;
    }
  }
  return at;
}

/// Where a #| comment |# that begins at `at` ends; they nest.
std::size_t skip_block_comment(std::string_view text, std::size_t at) {
  int depth = 1;
  for (at += 2; at + 1 < text.size(); ++at) {
    const std::string_view pair = text.substr(at, 2);
    if (pair == "|#" || pair == "#|") {
      depth += pair == "#|" ? 1 : -1;
      ++at;
    }
    if (depth == 0) {
      return at;
    }
  }
  return text.size();
}

}  // namespace

Balance balance_of(std::string_view text) {
  int depth = 0;
  bool something = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ';') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (text.substr(at, 2) == "#|") {
      at = skip_block_comment(text, at);
      if (at >= text.size()) {
        return Balance::kOpen;
      }
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      continue;
    }
    something = true;
    if (c == '"' || c == '|') {
      at = skip_quoted(text, at);
      if (at >= text.size()) {
        return Balance::kOpen;
      }
    } else if (c == '\\') {
      ++at;
    } else if (text.substr(at, 2) == "#\\") {
      at += 2;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    }
  }
  if (depth > 0) {
    return Balance::kOpen;
  }
  return something ? Balance::kComplete : Balance::kEmpty;
}

}  // namespace clmcp::app
