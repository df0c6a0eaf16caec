#include "json/value.h"

#include <array>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include <boost/json/error.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/result.h"

namespace clmcp::json {
namespace {

std::string reason(const boost::system::error_code& error, std::size_t offset) {
  if (error == boost::json::error::too_deep) {
    return fmt::format("nesting deeper than {} levels", limits::kJsonDepth);
  }
  if (error == boost::json::error::syntax) {
    // Boost has one word for a misplaced comma and for a byte that is not UTF-8.
    return fmt::format("syntax error or invalid UTF-8 at byte {}", offset);
  }
  return fmt::format("{} at byte {}", error.message(), offset);
}

}  // namespace

Result<Value> parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = limits::kJsonDepth;
  std::array<unsigned char, 4096> scratch;  // NOLINT: uninitialised on purpose, the parser's own.
  boost::json::parser parser(boost::json::storage_ptr(), options, scratch.data(), scratch.size());
  boost::system::error_code error;
  const std::size_t offset = parser.write(text.data(), text.size(), error);
  if (error) {
    return std::unexpected(Error{.code = ErrorCode::kSyntax, .message = reason(error, offset)});
  }
  return parser.release();
}

std::string print(const Object& object) {
  return boost::json::serialize(object);
}

}  // namespace clmcp::json
