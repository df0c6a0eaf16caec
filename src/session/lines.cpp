#include "session/lines.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/utf8.h"

namespace clmcp::session {
namespace {

/// From here on a line ends where the next character begins, so that the last one stays whole.
constexpr std::size_t kFullLine = limits::kOutputLineBytes - (kCharacterBytes - 1);

constexpr std::size_t kBlockBytes = 64 * limits::kKiB;

}  // namespace

LineCutter::Step LineCutter::step(std::string_view bytes) {
  std::size_t taken = 0;
  if (open_ < kFullLine) {
    const std::string_view window = bytes.substr(0, kFullLine - open_);
    if (const std::size_t newline = window.find('\n'); newline != std::string_view::npos) {
      open_ = 0;
      return {.bytes = newline + 1, .ends = true};
    }
    taken = window.size();
    open_ += taken;
  }
  for (; taken < bytes.size(); ++taken, ++open_) {  // Four times at most.
    const bool newline = bytes[taken] == '\n';
    const bool full = open_ == limits::kOutputLineBytes || !continues_character(bytes[taken]);
    if (newline || full) {
      open_ = 0;
      return {.bytes = taken + (newline ? 1 : 0), .ends = true};
    }
  }
  return {.bytes = taken, .ends = false};
}

std::optional<LineReader::Line> LineReader::next() {
  if (block_.size() - at_ <= 2 * limits::kOutputLineBytes) {
    fill();
  }
  const std::string_view rest = std::string_view(block_).substr(at_);
  if (rest.empty()) {
    return std::nullopt;
  }
  const std::string_view text = rest.substr(0, LineCutter().step(rest).bytes);
  const bool whole = text.back() == '\n';
  const Line line = {.number = next_.line,
                     .text = text,
                     .and_after = whole ? text : rest.substr(0, 2 * limits::kOutputLineBytes)};
  at_ += text.size();
  next_ = {.line = next_.line + 1, .offset = next_.offset + text.size()};
  return line;
}

/// Makes sure that the next line is in the block as a whole, and some of what follows.
void LineReader::fill() {
  if (unread_ == end_) {
    return;
  }
  const std::uint64_t most = std::min<std::uint64_t>(end_ - unread_, kBlockBytes);
  const std::string more = spool_.read(unread_, static_cast<std::size_t>(most));
  unread_ = more.size() < most ? end_ : unread_ + more.size();  // A failing disk ends it early.
  block_.erase(0, at_);
  block_ += more;
  at_ = 0;
}

}  // namespace clmcp::session
