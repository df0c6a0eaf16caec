#include "tools/tool_set.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "mcp/tool.h"
#include "session/sessions.h"
#include "support/fake_clock.h"
#include "support/fake_worker.h"

namespace clmcp::tools {
namespace {

class ToolSetTest : public ::testing::Test {
 protected:
  clmcp::testing::FakeClock clock_;
  clmcp::testing::FakeWorkers workers_;
  Log log_{LogLevel::kOff, 2};
  session::Sessions sessions_{workers_, clock_, log_};
  mcp::ToolSet tools_ = build_tool_set({.sessions = sessions_});
};

TEST_F(ToolSetTest, HasTheFourToolsOfTheContractInItsOrderAndThenItsOwn) {
  std::vector<std::string> names;
  for (const mcp::Tool& tool : tools_.tools()) {
    names.push_back(tool.info.name);
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("evaluate-lisp", "list-definitions", "reset-session",
                                     "load-system", "continue-evaluation", "interrupt-evaluation",
                                     "read-output", "checkpoints", "undo", "sessions"));
}

TEST_F(ToolSetTest, GivesEveryToolAnOptionalSession) {
  for (const mcp::Tool& tool : tools_.tools()) {
    EXPECT_TRUE(tool.schema.at("properties").as_object().contains("session")) << tool.info.name;
  }
}

TEST_F(ToolSetTest, DescribesEveryToolOnTheReferencePage) {
  const std::string page = reference_page(tools_);
  for (const mcp::Tool& tool : tools_.tools()) {
    EXPECT_THAT(page, ::testing::HasSubstr("## " + tool.info.name));
  }
}

TEST(Instructions, FitIntoWhatClientsShow) {
  EXPECT_LT(instructions().size(), 2000U);
}

}  // namespace
}  // namespace clmcp::tools
