#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/result.h"

namespace clmcp::rpc {

/// Cuts a stream of bytes into lines, one message each. Blank lines are skipped, and a carriage
/// return before the newline is not part of the line. A line beyond the limit is thrown away while
/// it comes in and reported once.
class LineReader {
 public:
  /// A line, or why there is none. It is valid until the next call, and as long as the input.
  using Line = Result<std::string_view>;

  explicit LineReader(std::size_t limit = limits::kMessageBytes) : limit_(limit) {}

  /// Takes bytes from the front of `input` up to the end of a line. Nothing once `input` is empty.
  [[nodiscard]] std::optional<Line> next(std::string_view& input);

  /// The last line, if the input ended without a newline.
  [[nodiscard]] std::optional<Line> finish();

 private:
  enum class State { kReading, kSkipping };

  std::optional<Line> keep(std::string_view part);
  std::string_view complete(std::string_view part);
  Line too_long();

  std::size_t limit_;
  State state_ = State::kReading;
  std::string held_;      // the beginning of a line whose end has not come yet
  std::string complete_;  // the line that was put together last
};

}  // namespace clmcp::rpc
