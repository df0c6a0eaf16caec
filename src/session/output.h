#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "session/lines.h"
#include "session/spool.h"

namespace clmcp::session {

/// Lines that a log had to let go.
struct DroppedLines {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::string why = {};  ///< empty where it is just that there were too many
};

/// What is shown of a log whose whole would be too long: its head, then its tail.
struct Excerpt {
  std::string head = {};  ///< all of it where nothing is left out
  std::string tail = {};
  std::uint64_t bytes_left_out = 0;
  std::uint64_t first_line_left_out = 0;  ///< of which some may be in the head,
  std::uint64_t last_line_left_out = 0;   ///< or in the tail
};

/// Lines of a log, as they were written.
struct Passage {
  enum class Stop {
    kCount,    ///< there are as many as were asked for
    kBudget,   ///< more would be too long
    kDropped,  ///< the next line is not kept
    kEnd,      ///< nothing more was written
  };

  std::string text = {};
  std::uint64_t first = 0;  ///< the line it begins with,
  std::uint64_t next = 0;   ///< and the one to go on with; the same where there are none
  Stop stop = Stop::kEnd;
};

/// Lines of a log in which something was found.
struct Matches {
  struct Line {
    std::uint64_t number = 0;
    std::string text = {};  ///< without its newline
  };

  std::vector<Line> lines = {};
  std::optional<std::uint64_t> next = {};  ///< the line to go on with, where not all was searched
};

/// Everything that is written to one stream of one call, kept within a bound: the beginning and the
/// end, and what is between only while it fits. Costs nothing until something is written, and
/// little memory then. Budgets are in characters (base/utf8.h); a line that is longer than
/// limits::kOutputLineBytes counts as several.
class OutputLog {
 public:
  /// Keeps a few of the longest lines at least.
  explicit OutputLog(std::size_t kept_bytes);

  void append(std::string_view bytes);

  /// Bytes ever written.
  [[nodiscard]] std::uint64_t size() const { return spool_.size(); }

  /// Bytes that are kept of it.
  [[nodiscard]] std::uint64_t kept() const {
    return size() - (spool_.tail_begin() - spool_.head_end());
  }

  /// Lines ever written, an unfinished one too.
  [[nodiscard]] std::uint64_t line_count() const;

  /// The lines in the middle that are not kept any more.
  [[nodiscard]] std::optional<DroppedLines> dropped() const;

  /// What was written from the byte `from` on, within a budget.
  [[nodiscard]] Excerpt excerpt(std::uint64_t from, std::size_t budget) const;

  /// At most `count` lines from `first_line` on, or from the next one that is kept. The first is
  /// there whatever the budget.
  [[nodiscard]] Passage read(std::uint64_t first_line, std::uint64_t count,
                             std::size_t budget) const;

  /// Kept lines from `first_line` on that hold `text`; ASCII letters match in either case.
  [[nodiscard]] Matches search(std::string_view text, std::uint64_t first_line,
                               std::size_t most_matches, std::size_t budget) const;

  /// The latest line that is not blank, as far as it fits into a line of a terminal or two.
  [[nodiscard]] std::string last_line() const;

 private:
  /// Kept lines without a gap.
  struct Region {
    LineStart begin;
    LineStart end;
  };

  void note_line(LineStart start);
  [[nodiscard]] LineStart end() const;
  [[nodiscard]] Region head() const;
  [[nodiscard]] Region tail() const;
  [[nodiscard]] LineReader reader(const Region& region, std::uint64_t line) const;
  [[nodiscard]] LineStart line_of(std::uint64_t offset) const;
  [[nodiscard]] std::string ending(std::uint64_t from, std::size_t most) const;

  std::size_t index_bytes_;
  Spool spool_;
  LineCutter cutter_;
  std::uint64_t ended_lines_ = 0;
  // Some of the lines that are kept, one in every index_bytes_, by which the others are found. What
  // is kept is taken to begin and end at them.
  std::vector<LineStart> index_;
};

/// What one call wrote, and what of its answer was too long for the reply.
struct CallOutput {
  explicit CallOutput(std::uint64_t number = 0, std::size_t kept_bytes = limits::kKeptOutputBytes)
      : call(number), output(kept_bytes), error_output(kept_bytes), result(kept_bytes) {}

  std::uint64_t call;
  OutputLog output;
  OutputLog error_output;
  OutputLog result;
};

}  // namespace clmcp::session
