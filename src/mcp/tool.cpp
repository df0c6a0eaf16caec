#include "mcp/tool.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "json/value.h"
#include "mcp/progress.h"
#include "rpc/error.h"

namespace clmcp::mcp {

void ToolCall::progress(double progress, std::string_view message) {
  if (auto params = progress_.advance(progress, message)) {
    reply_.notify(Progress::kMethod, *std::move(params));
  }
}

void ToolCall::answer(const ToolResult& result) && {
  json::Object text;
  text.emplace("type", "text");
  text.emplace("text", repair_utf8(result.text));
  json::Object object;
  object.emplace("content", json::Array({std::move(text)}));
  object.emplace("isError", result.is_error);
  std::move(reply_).result(std::move(object));
}

void ToolCall::fail(rpc::Error error) && {
  std::move(reply_).error(std::move(error));
}

Tool* ToolSet::find(std::string_view name) {
  const auto found =
      std::ranges::find_if(tools_, [name](const Tool& tool) { return tool.info.name == name; });
  return found == tools_.end() ? nullptr : &*found;
}

}  // namespace clmcp::mcp
