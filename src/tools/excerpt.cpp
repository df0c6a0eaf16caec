#include "tools/excerpt.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/cut.h"
#include "base/utf8.h"
#include "session/output.h"

namespace clmcp::tools {
namespace {

std::string amount(std::uint64_t number, std::string_view unit) {
  return fmt::format("{} {}{}", grouped(number), unit, number == 1 ? "" : "s");
}

std::string lines(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("line {}", grouped(first))
                       : fmt::format("lines {} to {}", grouped(first), grouped(last));
}

/// What of the lines that were left out cannot be read any more.
std::string lost(const session::OutputLog& log, const session::Excerpt& excerpt) {
  const auto dropped = log.dropped();
  if (!dropped || dropped->first > excerpt.last_line_left_out) {
    return "";
  }
  const std::string_view why = dropped->why;
  return fmt::format("; {} {} not kept{}{}{}", lines(dropped->first, dropped->last),
                     dropped->first == dropped->last ? "is" : "are", why.empty() ? "" : " (", why,
                     why.empty() ? "" : ")");
}

std::string note(const session::OutputLog& log, const session::Excerpt& excerpt,
                 const StreamName& name) {
  const std::uint64_t first = excerpt.first_line_left_out;
  const std::uint64_t last = excerpt.last_line_left_out;
  return fmt::format("[... {} in {} left out: read-output with call {}{} shows them, {}{} ...]",
                     amount(excerpt.bytes_left_out, "byte"), amount(last - first + 1, "line"),
                     name.call,
                     name.stream == "stdout" ? "" : fmt::format(" and stream {}", name.stream),
                     lines(first, last), lost(log, excerpt));
}

std::string joined(std::string_view head, std::string_view between, std::string_view tail) {
  std::string text(head);
  if (!text.empty() && !text.ends_with('\n')) {
    text += '\n';
  }
  text += between;
  if (!tail.empty()) {
    text += '\n';
    text += tail;
  }
  return text;
}

/// What is left of a budget beside a note of some length and its line ends.
std::size_t beside(std::size_t note_characters, std::size_t budget) {
  return budget - std::min(budget, note_characters + 2);
}

}  // namespace

std::string excerpt_of(const session::OutputLog& log, std::uint64_t from, std::size_t budget,
                       const StreamName& name) {
  session::Excerpt excerpt = log.excerpt(from, budget);
  if (excerpt.bytes_left_out == 0) {
    return excerpt.head;
  }
  // No note is longer than the one that says that everything is left out, but for the number of the
  // first line, which is no longer than that of the last.
  const session::Excerpt nothing = log.excerpt(from, 0);
  const std::size_t longest =
      note(log, nothing, name).size() + grouped(nothing.last_line_left_out).size();
  excerpt = log.excerpt(from, beside(longest, budget));
  return joined(excerpt.head, note(log, excerpt, name), excerpt.tail);
}

std::string shortened(std::string_view text, std::size_t budget) {
  if (!is_longer_than(text, budget)) {
    return std::string(text);
  }
  const auto between = [](std::size_t bytes) {
    return fmt::format("[... {} left out ...]", amount(bytes, "byte"));
  };
  const std::size_t half = beside(between(text.size()).size(), budget) / 2;
  const std::string_view head = cut_to_head(text, half);
  const std::string_view tail = cut_to_tail(text.substr(head.size()), half);
  return joined(head, between(text.size() - head.size() - tail.size()), tail);
}

std::vector<std::size_t> shares(const std::vector<std::size_t>& wanted, std::size_t budget) {
  std::vector<std::size_t> by_size(wanted.size());
  std::iota(by_size.begin(), by_size.end(), 0U);
  std::ranges::sort(by_size, {}, [&](std::size_t i) { return wanted[i]; });
  std::vector<std::size_t> shares(wanted.size());
  std::size_t left = wanted.size();
  for (const std::size_t i : by_size) {
    shares[i] = std::min(wanted[i], budget / left);
    budget -= shares[i];
    --left;
  }
  return shares;
}

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

}  // namespace clmcp::tools
