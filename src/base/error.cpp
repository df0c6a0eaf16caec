#include "base/error.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace clmcp {

Error system_error(const std::string& what) {
  const int reason = errno;
  return {.code = ErrorCode::kSystem,
          .message = fmt::format("{}: {}", what, std::generic_category().message(reason))};
}

}  // namespace clmcp
