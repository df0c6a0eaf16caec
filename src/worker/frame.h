#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace clmcp::worker {

/// A payload with its length before it, as AGENT-PROTOCOL.md says.
[[nodiscard]] std::string make_frame(std::string_view payload);

/// Cuts frames out of the bytes that come from a worker.
class FrameReader {
 public:
  /// Where the next bytes are to be appended.
  [[nodiscard]] std::string& buffer() { return buffer_; }

  /// The next whole payload; nothing while it is incomplete; an error when what came is no frame,
  /// after which the stream cannot be trusted any more.
  [[nodiscard]] Result<std::optional<std::string>> next();

 private:
  std::string buffer_;
  std::size_t taken_ = 0;  // Bytes of buffer_ already given out.
};

}  // namespace clmcp::worker
