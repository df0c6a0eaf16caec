#include "base/cut.h"

#include <cstddef>
#include <string_view>

#include "base/utf8.h"

namespace clmcp {

std::string_view cut_to_head(std::string_view text, std::size_t characters) {
  const std::string_view head = first_characters(text, characters);
  if (head.size() == text.size()) {
    return head;
  }
  const std::size_t newline = head.rfind('\n');
  const bool worth_it = newline != std::string_view::npos && newline >= head.size() / 2;
  return worth_it ? head.substr(0, newline + 1) : head;
}

std::string_view cut_to_tail(std::string_view text, std::size_t characters) {
  const std::string_view tail = last_characters(text, characters);
  const std::size_t begin = text.size() - tail.size();
  if (begin == 0 || tail.empty() || text[begin - 1] == '\n') {
    return tail;
  }
  const std::size_t newline = tail.find('\n');
  const bool worth_it = newline != std::string_view::npos && newline < tail.size() / 2;
  return worth_it ? tail.substr(newline + 1) : tail;
}

}  // namespace clmcp
