#pragma once

#include <string>
#include <string_view>

namespace clmcp {

/// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD. What Lisp code
/// writes may be any bytes; what we send must be text.
[[nodiscard]] std::string repair_utf8(std::string_view text);

}  // namespace clmcp
