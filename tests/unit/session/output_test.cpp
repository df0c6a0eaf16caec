#include "session/output.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace clmcp::session {
namespace {

TEST(BoundedOutput, KeepsWhatFits) {
  BoundedOutput output(4, 4);
  output.append("abc");
  output.append("defgh");
  EXPECT_EQ(output.take(), "abcdefgh");
}

TEST(BoundedOutput, KeepsHeadAndTailAndSaysHowMuchIsMissing) {
  BoundedOutput output(4, 4);
  output.append("abcdXXXXXefgh");
  EXPECT_EQ(output.take(), "abcd\n[... 5 bytes left out ...]\nefgh");
}

TEST(BoundedOutput, IsEmptyAfterTaking) {
  BoundedOutput output(2, 2);
  output.append("abcdefgh");
  (void)output.take();
  output.append("ab");
  EXPECT_EQ(output.take(), "ab");
}

TEST(BoundedOutput, DoesNotCareInWhichPiecesTheBytesCome) {
  const std::string text = "0123456789abcdefghijklmnopqrstuvwxyz";
  BoundedOutput whole(5, 7);
  whole.append(text);
  const std::string expected = whole.take();
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    BoundedOutput pieces(5, 7);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      pieces.append(std::string_view(text).substr(at, piece));
    }
    EXPECT_EQ(pieces.take(), expected) << "in pieces of " << piece;
  }
}

}  // namespace
}  // namespace clmcp::session
