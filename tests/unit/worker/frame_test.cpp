#include "worker/frame.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace clmcp::worker {
namespace {

std::vector<std::string> frames_in_pieces(const std::string& bytes, std::size_t piece) {
  FrameReader reader;
  std::vector<std::string> frames;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.buffer() += bytes.substr(at, piece);
    for (;;) {
      const auto frame = reader.next();
      if (!frame || !*frame) {
        break;
      }
      frames.push_back(**frame);
    }
  }
  return frames;
}

TEST(Frame, HasItsLengthInEightHexadecimalDigitsBeforeIt) {
  EXPECT_EQ(make_frame("(:ping)"), "00000007(:ping)");
}

TEST(Frame, IsReadWhateverThePiecesItComesIn) {
  const std::vector<std::string> payloads = {"(:ready)", "", "\"λ\"", std::string(300, 'x')};
  std::string bytes;
  for (const std::string& payload : payloads) {
    bytes += make_frame(payload);
  }
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(frames_in_pieces(bytes, piece), payloads) << "in pieces of " << piece;
  }
}

TEST(Frame, IsRefusedWhereThereIsNoLength) {
  FrameReader reader;
  reader.buffer() = "hello, world";
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Frame, IsRefusedBeyondTheLimitBeforeItIsRead) {
  FrameReader reader;
  reader.buffer() = "04000001";
  EXPECT_FALSE(reader.next().has_value());
}

}  // namespace
}  // namespace clmcp::worker
