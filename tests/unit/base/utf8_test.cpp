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

}  // namespace
}  // namespace clmcp
