#include "session/output.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace clmcp::session {

void BoundedOutput::append(std::string_view bytes) {
  const std::size_t into_head = std::min(bytes.size(), head_bytes_ - head_.size());
  head_ += bytes.substr(0, into_head);
  bytes.remove_prefix(into_head);
  if (bytes.size() > tail_bytes_) {
    left_out_ += tail_.size() + bytes.size() - tail_bytes_;
    tail_ = bytes.substr(bytes.size() - tail_bytes_);
    return;
  }
  tail_ += bytes;
  if (tail_.size() > 2 * tail_bytes_) {
    left_out_ += tail_.size() - tail_bytes_;
    tail_.erase(0, tail_.size() - tail_bytes_);
  }
}

std::string BoundedOutput::take() {
  if (tail_.size() > tail_bytes_) {
    left_out_ += tail_.size() - tail_bytes_;
    tail_.erase(0, tail_.size() - tail_bytes_);
  }
  std::string text = std::exchange(head_, {});
  if (left_out_ > 0) {
    text += fmt::format("\n[... {} bytes left out ...]\n", std::exchange(left_out_, 0));
  }
  text += std::exchange(tail_, {});
  return text;
}

}  // namespace clmcp::session
