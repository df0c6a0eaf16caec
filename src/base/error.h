#pragma once

#include <string>

namespace clmcp {

/// What kind of thing went wrong, for those who must choose what to do next. There is no default:
/// whoever makes an Error chooses.
enum class ErrorCode {
  kSyntax,       ///< input that does not follow its grammar
  kInvalid,      ///< well-formed input that means nothing here
  kNotFound,     ///< something named does not exist
  kLimit,        ///< a documented limit was reached
  kSystem,       ///< the operating system refused
  kUnavailable,  ///< what we depend on (SBCL, its image) cannot be used
};

/// A failure with a sentence for people.
struct Error {
  ErrorCode code;
  std::string message;
};

/// An Error from `errno`, as "what: reason". Call it at once after the failing call.
[[nodiscard]] Error system_error(const std::string& what);

}  // namespace clmcp
