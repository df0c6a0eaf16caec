#include "rpc/codec.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"

namespace clmcp::rpc {
namespace {

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

/// Gives the memory back too: one large message must not cost it for ever.
void release(std::string& text) {
  std::string().swap(text);
}

}  // namespace

std::optional<LineReader::Line> LineReader::next(std::string_view& input) {
  release(complete_);
  while (!input.empty()) {
    const std::size_t newline = input.find('\n');
    const std::string_view part = input.substr(0, newline);
    if (newline == std::string_view::npos) {
      input = {};
      return keep(part);
    }
    input.remove_prefix(newline + 1);
    if (state_ == State::kSkipping) {
      state_ = State::kReading;
      continue;
    }
    if (held_.size() + part.size() > limit_) {
      return too_long();
    }
    const std::string_view line = complete(part);
    if (!blank(line)) {
      return without_return(line);
    }
  }
  return std::nullopt;
}

std::optional<LineReader::Line> LineReader::finish() {
  state_ = State::kReading;
  const std::string_view line = complete({});
  if (blank(line)) {
    return std::nullopt;
  }
  return without_return(line);
}

std::optional<LineReader::Line> LineReader::keep(std::string_view part) {
  if (state_ == State::kSkipping) {
    return std::nullopt;
  }
  if (held_.size() + part.size() > limit_) {
    state_ = State::kSkipping;
    return too_long();
  }
  held_ += part;
  return std::nullopt;
}

/// The whole line that `part` ends. Most lines come whole and are not copied.
std::string_view LineReader::complete(std::string_view part) {
  if (held_.empty()) {
    return part;
  }
  complete_ = std::exchange(held_, {});
  complete_ += part;
  return complete_;
}

LineReader::Line LineReader::too_long() {
  release(held_);
  return std::unexpected(
      Error{.code = ErrorCode::kLimit,
            .message = fmt::format("A message may be at most {} MiB long; this one was longer and "
                                   "has been thrown away",
                                   limit_ / limits::kMiB)});
}

}  // namespace clmcp::rpc
