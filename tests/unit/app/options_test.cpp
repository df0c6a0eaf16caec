#include "app/options.h"

#include <expected>
#include <vector>

#include <gtest/gtest.h>

#include "app/exit_code.h"
#include "base/limits.h"

namespace clmcp::app {
namespace {

std::expected<Options, ExitCode> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "cl-mcp-server");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(JournalOptions, AJournalIsKeptUnlessSomebodySaysNo) {
  EXPECT_TRUE(parse({})->journal);
  EXPECT_EQ(parse({})->settings.journal, limits::kJournalBytes);
  EXPECT_FALSE(parse({"--no-journal"})->journal);
  EXPECT_EQ(parse({"--journal-size", "2"})->settings.journal, 2 * limits::kMiB);
}

TEST(JournalOptions, ASessionIsResumedByItsName) {
  EXPECT_EQ(parse({"--resume", "default"})->resume, "default");
  EXPECT_FALSE(parse({})->resume.has_value());
  EXPECT_EQ(parse({"--resume"}).error(), ExitCode::kUsage);
  EXPECT_EQ(parse({"--resume", "a", "--no-journal"}).error(), ExitCode::kUsage);
  EXPECT_EQ(parse({"--journal-size", "0"}).error(), ExitCode::kUsage);
}

TEST(JournalOptions, ExportNamesASessionAndPerhapsAFile) {
  const auto plain = parse({"export", "default"});
  EXPECT_EQ(plain->command, Options::Command::kExport);
  EXPECT_EQ(plain->exported, "default");
  EXPECT_FALSE(plain->export_to.has_value());
  EXPECT_EQ(parse({"export", "a", "--output", "f.lisp"})->export_to, "f.lisp");
  EXPECT_EQ(parse({"export"}).error(), ExitCode::kUsage);
}

}  // namespace
}  // namespace clmcp::app
