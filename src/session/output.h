#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace clmcp::session {

/// Keeps the beginning and the end of what is written, whatever the amount.
class BoundedOutput {
 public:
  BoundedOutput(std::size_t head_bytes, std::size_t tail_bytes)
      : head_bytes_(head_bytes), tail_bytes_(tail_bytes) {}

  void append(std::string_view bytes);

  /// What was kept, with a line between that says how much was left out; empty afterwards.
  [[nodiscard]] std::string take();

 private:
  std::size_t head_bytes_;
  std::size_t tail_bytes_;
  std::string head_;
  std::string tail_;  // May grow to twice its limit before it is cut, so that cutting is rare.
  std::size_t left_out_ = 0;
};

}  // namespace clmcp::session
