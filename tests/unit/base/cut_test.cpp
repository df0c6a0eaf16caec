#include "base/cut.h"

#include <gtest/gtest.h>

namespace clmcp {
namespace {

TEST(Cut, LeavesAloneWhatFits) {
  EXPECT_EQ(cut_to_head("a\nb", 3), "a\nb");
  EXPECT_EQ(cut_to_tail("a\nb", 3), "a\nb");
  EXPECT_EQ(cut_to_head("", 0), "");
  EXPECT_EQ(cut_to_tail("", 0), "");
}

TEST(Cut, IsAtTheEndOfALine) {
  EXPECT_EQ(cut_to_head("abc\ndef\nghi", 6), "abc\n");
  EXPECT_EQ(cut_to_head("abc\ndef\nghi", 8), "abc\ndef\n");
  EXPECT_EQ(cut_to_tail("abc\ndef\nghi", 5), "ghi");
  EXPECT_EQ(cut_to_tail("abc\ndef\nghi", 7), "def\nghi");
}

TEST(Cut, IsInsideALineWhereElseLittleWouldBeLeft) {
  EXPECT_EQ(cut_to_head("a\nbcdefghijk", 8), "a\nbcdefg");
  EXPECT_EQ(cut_to_tail("abcdefghij\nk", 8), "efghij\nk");
}

TEST(Cut, IsNeverInsideACharacter) {
  EXPECT_EQ(cut_to_head("€€€€", 2), "€€");
  EXPECT_EQ(cut_to_tail("€€€€", 2), "€€");
}

}  // namespace
}  // namespace clmcp
