#pragma once

#include <string_view>

namespace clmcp::app {

/// From project() in CMakeLists.txt.
inline constexpr std::string_view kVersion = CL_MCP_VERSION;

}  // namespace clmcp::app
