#pragma once

#include <string_view>

namespace clmcp::app {

/// Whether what was typed so far is worth evaluating.
enum class Balance {
  kEmpty,     ///< nothing but white space and comments
  kOpen,      ///< a parenthesis, string or comment is still open
  kComplete,  ///< whole forms, or one parenthesis too many, which Lisp will explain
};

/// Looks at parentheses with an eye on strings, |symbols|, #\( characters and comments. It is only
/// for a person's convenience at the terminal: what a form is, Lisp itself decides.
[[nodiscard]] Balance balance_of(std::string_view text);

}  // namespace clmcp::app
