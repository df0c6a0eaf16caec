#include "base/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace clmcp {
namespace {

TEST(Utf8, IsLeftAloneWhereItIsWellFormed) {
  const std::string text = "aé€😀\n\t";
  EXPECT_EQ(repair_utf8(text), text);
}

TEST(Utf8, IsRepairedByteByByte) {
  EXPECT_EQ(repair_utf8("a\xFF"
                        "b"),
            "a\uFFFDb");
  EXPECT_EQ(repair_utf8("\xC3"), "\uFFFD");                                // cut
  EXPECT_EQ(repair_utf8("\xC0\x80"), "\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(repair_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // surrogate
  EXPECT_EQ(repair_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
}

TEST(Utf8, IsWellFormedAfterACutAtAnyByte) {
  const std::string text = "é€😀";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string repaired = repair_utf8(text.substr(0, cut));
    EXPECT_EQ(repair_utf8(repaired), repaired);
  }
}

TEST(Utf8, CountsACharacterForEveryByteThatIsNone) {
  EXPECT_EQ(count_characters(""), 0U);
  EXPECT_EQ(count_characters("aé€😀"), 4U);
  EXPECT_EQ(count_characters("\x80\x80\xFFz\xE2\x82"), 6U);
}

TEST(Utf8, IsCutBetweenCharactersFromEitherSide) {
  const std::string text = "aé€😀";
  EXPECT_EQ(first_characters(text, 0), "");
  EXPECT_EQ(first_characters(text, 3), "aé€");
  EXPECT_EQ(first_characters(text, 9), text);
  EXPECT_EQ(last_characters(text, 0), "");
  EXPECT_EQ(last_characters(text, 1), "😀");
  EXPECT_EQ(last_characters(text, 3), "é€😀");
  EXPECT_EQ(last_characters(text, 4), text);
  EXPECT_EQ(last_characters(text, 9), text);
  EXPECT_TRUE(is_longer_than(text, 3));
  EXPECT_FALSE(is_longer_than(text, 4));
}

TEST(Utf8, IsCutFromTheEndWhereverItsCharactersLie) {
  for (std::size_t before = 0; before < 8; ++before) {
    const std::string text = std::string(before, 'x') + "€€€€€€€€€€€€";
    EXPECT_EQ(last_characters(text, 2), "€€");
  }
  EXPECT_EQ(last_characters(std::string(100, '\x80'), 5).size(), 5U);
}

}  // namespace
}  // namespace clmcp
