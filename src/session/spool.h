#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace clmcp::session {

/// The first and the last bytes of a stream of any length: in memory while there are few, then in a
/// temporary file without a name. Where that cannot be written, less is kept.
class Spool {
 public:
  explicit Spool(std::size_t kept_bytes) : kept_(kept_bytes) {}

  void append(std::string_view bytes);

  /// Bytes ever appended.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Bytes from here up to tail_begin() are not kept. Both are size() where all of them are.
  [[nodiscard]] std::uint64_t head_end() const { return size_ <= kept_ ? size_ : half(); }

  [[nodiscard]] std::uint64_t tail_begin() const {
    return size_ <= kept_ ? size_ : size_ - (kept_ - half());
  }

  /// Up to `most` bytes from `from` on, as far as they are kept: none from inside the gap, and none
  /// from behind it for a `from` before it. Fewer also where the disk fails.
  [[nodiscard]] std::string read(std::uint64_t from, std::size_t most) const;

  /// Why less is kept than was asked for; empty where it is not so.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] std::size_t half() const { return kept_ / 2; }

  [[nodiscard]] std::size_t place_of(std::uint64_t offset) const;
  [[nodiscard]] Result<void> store(std::string_view bytes);
  [[nodiscard]] Result<void> store_at(std::size_t place, std::string_view bytes);
  [[nodiscard]] Result<void> move_to_file();
  void move_to_memory(std::string why);

  std::size_t kept_;
  std::uint64_t size_ = 0;
  std::string memory_;
  Fd file_;
  std::string problem_;
};

}  // namespace clmcp::session
