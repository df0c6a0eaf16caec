#include "session/sessions.h"

#include <expected>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/result.h"
#include "session/session.h"

namespace clmcp::session {

Result<Session*> Sessions::find(const std::optional<std::string>& name) {
  if (!name || *name == "default") {
    return &default_;
  }
  return std::unexpected(Error{
      .code = ErrorCode::kNotFound,
      .message = fmt::format("There is no session named '{}'. The only one is 'default'.", *name)});
}

}  // namespace clmcp::session
