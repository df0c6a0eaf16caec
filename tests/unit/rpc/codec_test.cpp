#include "rpc/codec.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/limits.h"

namespace clmcp::rpc {
namespace {

using Lines = std::vector<std::string>;

void append(Lines& lines, const LineReader::Line& line) {
  lines.push_back(line ? std::string(*line) : "too long");
}

/// Feeds the pieces and then the end of the input.
Lines read(const std::vector<std::string_view>& pieces, std::size_t limit) {
  LineReader reader(limit);
  Lines lines;
  for (std::string_view piece : pieces) {
    const std::string copy(piece);  // So that a line kept beyond its input is caught by ASan.
    std::string_view rest = copy;
    while (const auto line = reader.next(rest)) {
      append(lines, *line);
    }
    EXPECT_TRUE(rest.empty());
  }
  if (const auto line = reader.finish()) {
    append(lines, *line);
  }
  return lines;
}

/// The input must give `expected` whole, cut at every byte, and byte by byte.
void expect_lines(std::string_view input, const Lines& expected, std::size_t limit = 100) {
  EXPECT_EQ(read({input}, limit), expected);
  for (std::size_t at = 0; at <= input.size(); ++at) {
    EXPECT_EQ(read({input.substr(0, at), input.substr(at)}, limit), expected) << "cut at " << at;
  }
  std::vector<std::string_view> bytes;
  bytes.reserve(input.size());
  for (std::size_t at = 0; at < input.size(); ++at) {
    bytes.push_back(input.substr(at, 1));
  }
  EXPECT_EQ(read(bytes, limit), expected);
}

TEST(LineReader, CutsLinesWhereverTheInputIsCut) {
  expect_lines("{\"a\":1}\n{\"b\":\"\xC3\xA4\"}\n", {"{\"a\":1}", "{\"b\":\"\xC3\xA4\"}"});
}

TEST(LineReader, ToleratesCarriageReturns) {
  expect_lines("a\r\n\r\nb\r\n", {"a", "b"});
  expect_lines("a\rb\n", {"a\rb"});
}

TEST(LineReader, SkipsBlankLines) {
  expect_lines("\n\n  \t\na\n \n\n", {"a"});
  expect_lines("", {});
}

TEST(LineReader, GivesTheLastLineWithoutANewline) {
  expect_lines("a\nb", {"a", "b"});
  expect_lines("a\n  ", {"a"});
  expect_lines("a\r", {"a"});
}

TEST(LineReader, PassesNullBytesOn) {
  expect_lines(std::string_view("a\0b\n\0\n", 6), {std::string("a\0b", 3), std::string(1, '\0')});
}

TEST(LineReader, ThrowsALongLineAwayAndReportsItOnce) {
  expect_lines("12345\n123456\n123\n", {"12345", "too long", "123"}, 5);
  expect_lines("1234567890123456789\n\n1\n", {"too long", "1"}, 5);
  expect_lines("1\n123456\n123456\n", {"1", "too long", "too long"}, 5);
  expect_lines("123456", {"too long"}, 5);
  expect_lines("1234567\n", {"too long"}, 5);
}

TEST(LineReader, SaysTheLimitInPlainWords) {
  LineReader reader;
  const std::string chunk(limits::kMiB, 'x');
  std::size_t reports = 0;
  for (std::size_t fed = 0; fed < 64 * limits::kMiB; fed += chunk.size()) {
    std::string_view rest = chunk;
    while (const auto line = reader.next(rest)) {
      ++reports;
      ASSERT_FALSE(*line);
      EXPECT_EQ(fed, limits::kMessageBytes);
      EXPECT_EQ(line->error().code, ErrorCode::kLimit);
      EXPECT_EQ(
          line->error().message,
          "A message may be at most 16 MiB long; this one was longer and has been thrown away");
    }
  }
  EXPECT_EQ(reports, 1);
  std::string_view rest = "\nnext\n";
  const auto line = reader.next(rest);
  ASSERT_TRUE(line && *line);
  EXPECT_EQ(**line, "next");
}

TEST(LineReader, TakesALineOfExactlyTheLimit) {
  const std::string text = std::string(limits::kMessageBytes, 'x') + "\n";
  LineReader reader;
  std::string_view rest = text;
  const auto line = reader.next(rest);
  ASSERT_TRUE(line && *line);
  EXPECT_EQ((*line)->size(), limits::kMessageBytes);
}

}  // namespace
}  // namespace clmcp::rpc
