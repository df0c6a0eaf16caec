#include <cstdint>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/fields.h"
#include "mcp/tool.h"
#include "tools/tool_set.h"

namespace clmcp::tools {
namespace {

struct LimitedArgs {
  std::string verb;
  std::optional<std::int64_t> count;

  void fields(auto& f) {
    f.need_choice("verb", verb, {"start", "stop"}, "What to do");
    f.opt("count", count, "How often", json::Range{1, 100});
  }
};

TEST(ReferencePage, ShowsTheLimitsOfParameters) {
  mcp::ToolSet tools;
  tools.add<LimitedArgs>({.name = "act", .title = "", .description = "", .hints = {}},
                         [](const LimitedArgs& /*args*/, const mcp::ToolCall& /*call*/) {});
  const std::string page = reference_page(tools);
  EXPECT_THAT(page,
              ::testing::HasSubstr("| `verb` | string | yes | What to do; one of `start` `stop` |\n"
                                   "| `count` | integer | no | How often; 1 to 100 |\n"));
}

}  // namespace
}  // namespace clmcp::tools
