#include "worker/frame.h"

#include <charconv>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/result.h"

namespace clmcp::worker {
namespace {

constexpr std::size_t kHeaderBytes = 8;

}  // namespace

std::string make_frame(std::string_view payload) {
  return fmt::format("{:08x}{}", payload.size(), payload);
}

Result<std::optional<std::string>> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(taken_);
  if (rest.size() < kHeaderBytes) {
    return std::nullopt;
  }
  std::size_t length = 0;
  const char* const header = rest.data();
  const char* const header_end = header + kHeaderBytes;
  const auto [end, error] = std::from_chars(header, header_end, length, 16);
  if (error != std::errc() || end != header_end) {
    return std::unexpected(Error{.code = ErrorCode::kSyntax, .message = "not a frame"});
  }
  if (length > limits::kFrameBytes) {
    return std::unexpected(
        Error{.code = ErrorCode::kLimit, .message = fmt::format("a frame of {} bytes", length)});
  }
  if (rest.size() < kHeaderBytes + length) {
    return std::nullopt;
  }
  std::string payload(rest.substr(kHeaderBytes, length));
  taken_ += kHeaderBytes + length;
  if (taken_ == buffer_.size()) {
    buffer_.clear();
    taken_ = 0;
  }
  return payload;
}

}  // namespace clmcp::worker
