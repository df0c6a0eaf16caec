#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"

/// JSON under our own names. An Object keeps its keys in the order they were put in.
///
/// Write `Value v(other)`, never `Value v{other}`: braces make an array of one.
namespace clmcp::json {

using Array = boost::json::array;
using Object = boost::json::object;
using Value = boost::json::value;

/// The one value that `text` holds. Refused are nesting beyond limits::kJsonDepth, anything that is
/// not well-formed UTF-8 (lone surrogates too) and anything after the value. Of a key that comes
/// twice the last one counts; numbers beyond 64 bits become doubles.
[[nodiscard]] Result<Value> parse(std::string_view text);

/// One line of JSON. Strings must be UTF-8 already (base/utf8.h): they are not checked here.
[[nodiscard]] std::string print(const Object& object);

}  // namespace clmcp::json
