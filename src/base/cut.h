#pragma once

#include <cstddef>
#include <string_view>

/// Text cut down to some characters: at the end of a line where that costs no more than half of
/// them, else between two characters.
namespace clmcp {

/// The beginning of `text`; all of it where it fits.
[[nodiscard]] std::string_view cut_to_head(std::string_view text, std::size_t characters);

/// The end of `text`; all of it where it fits.
[[nodiscard]] std::string_view cut_to_tail(std::string_view text, std::size_t characters);

}  // namespace clmcp
