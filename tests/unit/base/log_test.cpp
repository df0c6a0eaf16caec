#include "base/log.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"

namespace clmcp {
namespace {

TEST(Log, WritesKeysAndValues) {
  EXPECT_EQ(format_log_line(LogLevel::kInfo, "started", {{"pid", 7}, {"name", "default"}}),
            "level=info event=started pid=7 name=default\n");
}

TEST(Log, QuotesWhatWouldBreakTheLine) {
  EXPECT_EQ(format_log_line(LogLevel::kError, "a b", {{"x", "say \"hi\"\n"}, {"y", ""}}),
            "level=error event=\"a b\" x=\"say \\\"hi\\\"\\n\" y=\"\"\n");
}

TEST(Log, WritesOnlyWhatIsImportantEnough) {
  FdPair pipe = *make_pipe();
  Log log(LogLevel::kWarning, std::move(pipe.theirs));
  log.info("quiet");
  log.error("loud");
  std::string text;
  read_some(pipe.ours.get(), text, 1000);
  EXPECT_THAT(text, ::testing::MatchesRegex("time=[-0-9T:]+Z level=error event=loud\n"));
}

}  // namespace
}  // namespace clmcp
