#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "session/spool.h"

namespace clmcp::session {

/// Finds where lines end, whatever the pieces in which their bytes come. A line ends after a
/// newline, or before the character that would take it beyond limits::kOutputLineBytes.
class LineCutter {
 public:
  struct Step {
    std::size_t bytes;  ///< that belong to the line
    bool ends;          ///< with them; what follows is the next line
  };

  /// Takes from the front of `bytes` what belongs to the current line.
  Step step(std::string_view bytes);

  /// Bytes that the current line has so far.
  [[nodiscard]] std::size_t open_bytes() const { return open_; }

 private:
  std::size_t open_ = 0;
};

/// The beginning of a line: lines count from 1, bytes from 0.
struct LineStart {
  std::uint64_t line = 1;
  std::uint64_t offset = 0;
};

/// Reads one line after the other, a block at a time.
class LineReader {
 public:
  struct Line {
    std::uint64_t number = 0;
    std::string_view text;       ///< with its newline; good until the next call
    std::string_view and_after;  ///< the same and some of what follows a line cut for its length
  };

  /// From `from` up to the byte `end`, both of which begin a line. `spool` must stay as it is.
  LineReader(const Spool& spool, LineStart from, std::uint64_t end)
      : spool_(spool), next_(from), unread_(from.offset), end_(end) {}

  [[nodiscard]] std::optional<Line> next();

 private:
  void fill();

  const Spool& spool_;
  LineStart next_;
  std::uint64_t unread_;  // What lies before it is in the block.
  std::uint64_t end_;
  std::string block_;
  std::size_t at_ = 0;
};

}  // namespace clmcp::session
