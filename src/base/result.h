#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace clmcp {

/// What anything that can fail returns.
template <typename T>
using Result = std::expected<T, Error>;

}  // namespace clmcp

/// The value of a Result, or a return of its Error to the caller.
// `__extension__` keeps -Wpedantic quiet about the statement expression, which g++ and clang share.
#define TRY(expression)                                       \
  __extension__({                                             \
    auto&& try_result_ = (expression);                        \
    if (!try_result_) {                                       \
      return std::unexpected(std::move(try_result_).error()); \
    }                                                         \
    *std::move(try_result_);                                  \
  })
