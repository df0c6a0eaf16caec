#include "tools/excerpt.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "session/output.h"

namespace clmcp::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += "123456789\n";
  }
  return text;
}

session::OutputLog log_of(const std::string& text, std::size_t kept = limits::kKeptOutputBytes) {
  session::OutputLog log(kept);
  log.append(text);
  return log;
}

TEST(Shares, GiveLittleOnesAllAndDivideTheRestEvenly) {
  EXPECT_THAT(shares({}, 10), IsEmpty());
  EXPECT_THAT(shares({3, 4}, 7), ElementsAre(3, 4));
  EXPECT_THAT(shares({3, 4}, 6), ElementsAre(3, 3));
  EXPECT_THAT(shares({1000, 10, 1000, 20}, 100), ElementsAre(35, 10, 35, 20));
  EXPECT_THAT(shares({1000, 40, 1000}, 100), ElementsAre(33, 33, 34));
  EXPECT_THAT(shares({5, 5}, 0), ElementsAre(0, 0));
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(ExcerptOf, SaysWhatIsLeftOutAndHowToReadIt) {
  const session::OutputLog log = log_of(lines(20'000));
  EXPECT_EQ(excerpt_of(log, 0, 150, {.call = 7, .stream = "stdout"}),
            "123456789\n"
            "[... 199,980 bytes in 19,998 lines left out: read-output with call 7 shows them, "
            "lines 2 to 19,999 ...]\n"
            "123456789\n");
  EXPECT_EQ(
      excerpt_of(log, 0, 0, {.call = 7, .stream = "stderr"}),
      "[... 200,000 bytes in 20,000 lines left out: read-output with call 7 and stream stderr "
      "shows them, lines 1 to 20,000 ...]");
  EXPECT_EQ(excerpt_of(log, 199'980, 100, {.call = 7, .stream = "stdout"}), lines(2));
}

TEST(ExcerptOf, SpeaksOfOneLineInTheSingular) {
  EXPECT_EQ(excerpt_of(log_of(std::string(1000, 'x')), 0, 10, {.call = 1, .stream = "result"}),
            "[... 1,000 bytes in 1 line left out: read-output with call 1 and stream result shows "
            "them, line 1 ...]");
}

TEST(ExcerptOf, SaysWhatCannotBeReadAnyMore) {
  const session::OutputLog log = log_of(lines(100'000), 32'000);
  const auto dropped = *log.dropped();
  EXPECT_THAT(excerpt_of(log, 0, 300, {.call = 7, .stream = "stdout"}),
              ::testing::HasSubstr("; lines " + grouped(dropped.first) + " to " +
                                   grouped(dropped.last) + " are not kept ...]"));
}

TEST(ExcerptOf, StaysWithinTheBudget) {
  const session::OutputLog log = log_of(lines(20'000));
  for (std::size_t budget = 150; budget < 3000; budget += 7) {
    const std::string text = excerpt_of(log, 0, budget, {.call = 7, .stream = "stdout"});
    EXPECT_LE(text.size(), budget);
    EXPECT_GE(text.size() + 30, budget);
  }
}

TEST(Shortened, CutsOnlyWhatIsTooLong) {
  EXPECT_EQ(shortened("äöü", 3), "äöü");
  EXPECT_EQ(shortened(lines(100), 60), "123456789\n[... 980 bytes left out ...]\n123456789\n");
  for (std::size_t budget = 40; budget < 200; ++budget) {
    const std::string text = shortened(std::string(1000, 'x') + "€", budget);
    EXPECT_LE(count_characters(text), budget);
    EXPECT_EQ(repair_utf8(text), text);
  }
}

}  // namespace
}  // namespace clmcp::tools
