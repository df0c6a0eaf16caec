#pragma once

#include <optional>
#include <string_view>

#include "json/value.h"
#include "mcp/revision.h"

namespace clmcp::mcp {

/// How far a request has come, for a client that asked to be told: `notifications/progress`. It
/// asks with a token in the request's `_meta`, a string or a number, which comes back as it was.
class Progress {
 public:
  static constexpr std::string_view kMethod = "notifications/progress";

  /// What the parameters of a request ask for. A token that cannot be one asks for nothing: that is
  /// no reason to refuse the request.
  Progress(const json::Object& params, Revision revision);

  [[nodiscard]] bool is_wanted() const { return token_.has_value(); }

  /// The parameters of the next notification; nothing where there must not be one: nobody asked, or
  /// `progress` does not go beyond the one before. The message may be any bytes.
  [[nodiscard]] std::optional<json::Object> advance(double progress, std::string_view message);

 private:
  std::optional<json::Value> token_;
  Revision revision_;
  std::optional<double> last_;
};

}  // namespace clmcp::mcp
