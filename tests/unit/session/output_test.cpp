#include "session/output.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/utf8.h"

namespace clmcp::session {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Stop = Passage::Stop;

constexpr std::size_t kAll = limits::kMostReplyCharacters;
constexpr std::size_t kSmall = 32'000;  // The least that a log keeps.

OutputLog log_of(std::string_view text, std::size_t kept = limits::kKeptOutputBytes) {
  OutputLog log(kept);
  log.append(text);
  return log;
}

std::string numbered(std::uint64_t first, std::uint64_t last) {
  std::string text;
  for (std::uint64_t line = first; line <= last; ++line) {
    text += fmt::format("line {:08}\n", line);
  }
  return text;
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) {
    text += part;
  }
  return text;
}

/// Points the temporary directory elsewhere for one test.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& path) {
    if (const char* before = std::getenv("TMPDIR")) {
      before_ = before;
    }
    ::setenv("TMPDIR", path.c_str(), 1);
  }

  ~TemporaryDirectory() {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  TemporaryDirectory(TemporaryDirectory&&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;

 private:
  std::optional<std::string> before_;
};

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::ranges::distance(
      std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

TEST(OutputLog, IsEmptyBeforeAnythingIsWritten) {
  OutputLog log(limits::kKeptOutputBytes);
  log.append("");
  EXPECT_EQ(log.size(), 0U);
  EXPECT_EQ(log.line_count(), 0U);
  EXPECT_FALSE(log.dropped());
  EXPECT_EQ(log.last_line(), "");
  EXPECT_EQ(log.excerpt(0, 100).head, "");
  EXPECT_EQ(log.excerpt(0, 0).bytes_left_out, 0U);
  EXPECT_EQ(log.read(1, 10, 100).text, "");
  EXPECT_EQ(log.read(1, 10, 100).stop, Stop::kEnd);
  EXPECT_TRUE(log.search("x", 1, 10, 100).lines.empty());
}

TEST(OutputLog, CostsLittleWhileItIsEmpty) {
  EXPECT_LE(sizeof(OutputLog), 200U);
}

TEST(OutputLog, CountsTheLinesAnUnfinishedOneToo) {
  EXPECT_EQ(log_of("a").line_count(), 1U);
  EXPECT_EQ(log_of("a\n").line_count(), 1U);
  EXPECT_EQ(log_of("a\nb").line_count(), 2U);
  EXPECT_EQ(log_of("\n\n").line_count(), 2U);
}

TEST(OutputLog, GivesLinesAsTheyWereWritten) {
  const OutputLog log = log_of("one\n\n  three\nfour");
  const Passage middle = log.read(2, 2, kAll);
  EXPECT_EQ(middle.text, "\n  three\n");
  EXPECT_EQ(middle.first, 2U);
  EXPECT_EQ(middle.next, 4U);
  EXPECT_EQ(middle.stop, Stop::kCount);
  const Passage end = log.read(4, 100, kAll);
  EXPECT_EQ(end.text, "four");
  EXPECT_EQ(end.stop, Stop::kEnd);
  EXPECT_EQ(log.read(3, 2, kAll).stop, Stop::kEnd);
  EXPECT_EQ(log.read(5, 1, kAll).text, "");
  EXPECT_EQ(log.read(5, 1, kAll).stop, Stop::kEnd);
}

TEST(OutputLog, StopsReadingAtTheBudgetButGivesOneLineAlways) {
  const OutputLog log = log_of("äää\nbbb\nccc\n");
  const Passage two = log.read(1, 10, 8);
  EXPECT_EQ(two.text, "äää\nbbb\n");
  EXPECT_EQ(two.stop, Stop::kBudget);
  EXPECT_EQ(two.next, 3U);
  EXPECT_EQ(log.read(1, 10, 7).text, "äää\n");
  EXPECT_EQ(log.read(2, 10, 0).text, "bbb\n");
}

TEST(OutputLog, DoesNotCareInWhichPiecesTheBytesCome) {
  const std::string text = "x\n" + repeated("€", 1500) + "\n\n" + std::string(1997, 'a') + "\n" +
                           std::string(2001, 'b') + repeated("😀", 1200) +
                           "\xFF\x80\x80\x80\x80 end";
  const OutputLog whole = log_of(text);
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 1996U, 1997U, 1998U, 2000U, 2001U}) {
    OutputLog log(limits::kKeptOutputBytes);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      log.append(std::string_view(text).substr(at, piece));
    }
    EXPECT_EQ(log.line_count(), whole.line_count()) << "in pieces of " << piece;
    EXPECT_EQ(log.read(1, 1000, kAll).text, text);
    for (std::uint64_t line = 1; line <= whole.line_count(); ++line) {
      EXPECT_EQ(log.read(line, 1, kAll).text, whole.read(line, 1, kAll).text) << line;
    }
  }
}

TEST(OutputLog, CutsALongLineBetweenTwoCharacters) {
  for (const std::string_view character : {"x", "é", "€", "😀"}) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
      const OutputLog log =
          log_of(std::string(shift, '.') + repeated(character, 8000 / character.size()));
      EXPECT_GE(log.line_count(), 4U);
      for (std::uint64_t line = 1; line <= log.line_count(); ++line) {
        const std::string text = log.read(line, 1, kAll).text;
        EXPECT_LE(text.size(), limits::kOutputLineBytes);
        EXPECT_EQ(repair_utf8(text), text) << character << " shifted by " << shift;
      }
    }
  }
}

TEST(OutputLog, KeepsALineOfJustTheLongestLengthInOnePiece) {
  EXPECT_EQ(log_of(std::string(1997, 'x') + "\n").line_count(), 1U);
  EXPECT_EQ(log_of(std::string(1998, 'x') + "\n").line_count(), 2U);
  EXPECT_EQ(log_of(repeated("😀", 500) + "\n").line_count(), 1U);
}

TEST(OutputLog, CutsBytesThatAreNoText) {
  const OutputLog log = log_of(std::string(100'000, '\x80'));
  EXPECT_EQ(log.line_count(), 50U);
  const Excerpt excerpt = log.excerpt(0, 1000);
  EXPECT_EQ(excerpt.head.size(), 500U);
  EXPECT_LE(excerpt.tail.size(), 500U);
}

TEST(OutputLog, IsTheSameOnBothSidesOfTheWayToDisk) {
  const std::size_t in_memory = limits::kOutputInMemoryBytes;
  const std::size_t descriptors = open_descriptors();
  for (const std::size_t size : {in_memory - 1, in_memory, in_memory + 1, 3 * in_memory}) {
    std::string text = numbered(1, size / 14 + 1);
    text.resize(size);
    OutputLog log(limits::kKeptOutputBytes);
    for (std::size_t at = 0; at < size; at += 10'000) {
      log.append(std::string_view(text).substr(at, 10'000));
    }
    EXPECT_EQ(open_descriptors(), descriptors + (size > in_memory ? 1 : 0));
    EXPECT_EQ(log.size(), size);
    EXPECT_FALSE(log.dropped());
    EXPECT_EQ(log.read(1, size, kAll).text, text);
    EXPECT_EQ(log.read(5000, 1, kAll).text, "line 00005000\n");
  }
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(OutputLog, KeepsEverythingUpToItsBoundAndDropsTheMiddleBeyond) {
  std::string text = numbered(1, 3000);
  text.resize(kSmall);
  OutputLog log = log_of(text, kSmall);
  EXPECT_FALSE(log.dropped());
  EXPECT_EQ(log.read(1, 10'000, kAll).text, text);
  log.append("x");
  ASSERT_TRUE(log.dropped());
  EXPECT_EQ(log.dropped()->why, "");
  EXPECT_EQ(log.read(1, 10'000, kAll).stop, Stop::kDropped);
}

/// A log that dropped its middle: every kept line must be found under its own number.
void expect_right_numbers(const OutputLog& log) {
  const auto dropped = log.dropped();
  ASSERT_TRUE(dropped);
  for (std::uint64_t line = 1; line <= log.line_count(); line += 97) {
    const Passage passage = log.read(line, 1, kAll);
    const bool lost = line >= dropped->first && line <= dropped->last;
    EXPECT_EQ(passage.first, lost ? dropped->last + 1 : line);
    EXPECT_EQ(passage.text, numbered(passage.first, passage.first));
  }
  const Passage before = log.read(dropped->first - 2, 10, kAll);
  EXPECT_EQ(before.text, numbered(dropped->first - 2, dropped->first - 1));
  EXPECT_EQ(before.stop, Stop::kDropped);
  EXPECT_EQ(before.next, dropped->first);
}

TEST(OutputLog, NumbersLinesRightAcrossTheDroppedMiddle) {
  for (const std::size_t kept : {kSmall, std::size_t{100'000}, 2 * limits::kMiB}) {
    OutputLog log(kept);
    for (std::uint64_t line = 1; line <= 300'000; line += 100) {
      log.append(numbered(line, line + 99));
    }
    EXPECT_EQ(log.line_count(), 300'000U);
    expect_right_numbers(log);
    const auto dropped = log.dropped();
    const std::uint64_t kept_lines = 300'000 - (dropped->last - dropped->first + 1);
    EXPECT_GE(kept_lines * 14, kept / 2);
    EXPECT_LE(kept_lines * 14, kept);
  }
}

TEST(OutputLog, TakesMoreAtOnceThanItKeeps) {
  const OutputLog log = log_of(numbered(1, 300'000), kSmall);
  expect_right_numbers(log);
}

TEST(OutputLog, FindsALineWhateverTheCaseOfItsLetters) {
  const OutputLog log = log_of("Alpha\nbeta\nALPHABET\n\nÄhre\n");
  const Matches matches = log.search("aLpHa", 1, 10, kAll);
  ASSERT_EQ(matches.lines.size(), 2U);
  EXPECT_EQ(matches.lines[0].number, 1U);
  EXPECT_EQ(matches.lines[0].text, "Alpha");
  EXPECT_EQ(matches.lines[1].number, 3U);
  EXPECT_FALSE(matches.next);
  EXPECT_EQ(log.search("ähre", 1, 10, kAll).lines.size(), 0U);
  EXPECT_EQ(log.search("Ähre", 1, 10, kAll).lines.size(), 1U);
  EXPECT_EQ(log.search("alpha", 2, 10, kAll).lines.front().number, 3U);
  EXPECT_TRUE(log.search("alpha", 4, 10, kAll).lines.empty());
  EXPECT_TRUE(log.search("alpha", 100, 10, kAll).lines.empty());
}

TEST(OutputLog, SaysWhereToGoOnSearching) {
  const OutputLog log = log_of(numbered(1, 100));
  const Matches first = log.search("line", 1, 10, kAll);
  EXPECT_EQ(first.lines.size(), 10U);
  EXPECT_EQ(first.next, 11U);
  EXPECT_FALSE(log.search("line", 91, 10, kAll).next);
  const Matches short_of_budget = log.search("line", 1, 100, 28);
  EXPECT_EQ(short_of_budget.lines.size(), 2U);
  EXPECT_EQ(short_of_budget.next, 3U);
  EXPECT_EQ(log.search("line", 1, 100, 0).lines.size(), 1U);
}

TEST(OutputLog, FindsWhatLiesAcrossTheBlocksItIsReadIn) {
  constexpr std::string_view kNeedle = "needle";
  const std::size_t block = 64 * limits::kKiB;
  for (std::size_t before = block - kNeedle.size() - 1; before <= block + 1; ++before) {
    std::string text = repeated("123456789\n", before / 10 + 1);
    text.resize(before);
    text += std::string(kNeedle) + "\n" + repeated("123456789\n", 1000);
    const Matches matches = log_of(text).search(kNeedle, 1, 10, kAll);
    ASSERT_EQ(matches.lines.size(), 1U) << before;
    EXPECT_EQ(matches.lines[0].number, before / 10 + 1);
  }
}

TEST(OutputLog, FindsWhatLiesAcrossTheCutOfALongLine) {
  for (std::size_t before = 1985; before <= 2002; ++before) {
    const OutputLog log = log_of(std::string(before, 'x') + "needle" + std::string(3000, 'x'));
    EXPECT_EQ(log.search("needle", 1, 10, kAll).lines.size(), 1U) << before;
  }
}

TEST(OutputLog, SearchesOnBothSidesOfTheDroppedMiddle) {
  OutputLog log(kSmall);
  log.append("first needle\n");
  log.append(numbered(2, 99'999));
  log.append("last needle\n");
  const Matches matches = log.search("needle", 1, 10, kAll);
  ASSERT_EQ(matches.lines.size(), 2U);
  EXPECT_EQ(matches.lines[1].number, 100'000U);
}

TEST(OutputLog, ShowsAllOfWhatFitsIntoTheBudget) {
  const OutputLog log = log_of("äbc\ndef\n");
  EXPECT_EQ(log.excerpt(0, 8).head, "äbc\ndef\n");
  EXPECT_EQ(log.excerpt(0, 8).bytes_left_out, 0U);
  EXPECT_GT(log.excerpt(0, 7).bytes_left_out, 0U);
  EXPECT_EQ(log.excerpt(5, 4).head, "def\n");
  EXPECT_EQ(log.excerpt(9, 4).head, "");
  EXPECT_EQ(log.excerpt(9, 0).bytes_left_out, 0U);
}

TEST(OutputLog, ShowsHeadAndTailCutAtLineEnds) {
  const OutputLog log = log_of(numbered(1, 1000));
  const Excerpt excerpt = log.excerpt(0, 150);
  EXPECT_EQ(excerpt.head, numbered(1, 5));
  EXPECT_EQ(excerpt.tail, numbered(996, 1000));
  EXPECT_EQ(excerpt.bytes_left_out, 990U * 14);
  EXPECT_EQ(excerpt.first_line_left_out, 6U);
  EXPECT_EQ(excerpt.last_line_left_out, 995U);
}

TEST(OutputLog, ShowsTheRestOfWhatWasShownBefore) {
  const OutputLog log = log_of(numbered(1, 1000));
  const Excerpt excerpt = log.excerpt(14 * 500, 150);
  EXPECT_EQ(excerpt.head, numbered(501, 505));
  EXPECT_EQ(excerpt.first_line_left_out, 506U);
  EXPECT_EQ(excerpt.last_line_left_out, 995U);
}

TEST(OutputLog, CutsInsideALineWhereItMustAndNeverInsideACharacter) {
  for (const std::string_view character : {"x", "é", "€", "😀"}) {
    for (std::size_t budget = 0; budget < 20; ++budget) {
      const OutputLog log = log_of("." + repeated(character, 5000));
      const Excerpt excerpt = log.excerpt(0, budget);
      EXPECT_EQ(repair_utf8(excerpt.head), excerpt.head);
      EXPECT_EQ(repair_utf8(excerpt.tail), excerpt.tail);
      EXPECT_EQ(count_characters(excerpt.head), budget / 2);
      EXPECT_EQ(count_characters(excerpt.tail), budget / 2);
      EXPECT_EQ(excerpt.head.size() + excerpt.bytes_left_out + excerpt.tail.size(), log.size());
      EXPECT_EQ(excerpt.first_line_left_out, 1U);
      EXPECT_GE(excerpt.last_line_left_out, log.line_count() - 1);  // The last may be short.
    }
  }
}

TEST(OutputLog, ShowsHeadAndTailAcrossTheDroppedMiddle) {
  const OutputLog log = log_of(numbered(1, 100'000), kSmall);
  const Excerpt excerpt = log.excerpt(0, 150);
  EXPECT_EQ(excerpt.head, numbered(1, 5));
  EXPECT_EQ(excerpt.tail, numbered(99'996, 100'000));
  EXPECT_EQ(excerpt.first_line_left_out, 6U);
  EXPECT_EQ(excerpt.last_line_left_out, 99'995U);
  const Excerpt from_the_gap = log.excerpt(700'000, 150);
  EXPECT_EQ(from_the_gap.head, "");
  EXPECT_EQ(from_the_gap.tail, numbered(99'996, 100'000));
  const Excerpt more_than_kept = log.excerpt(0, 100'000);
  EXPECT_LE(more_than_kept.head.size() + more_than_kept.tail.size(), kSmall);
  EXPECT_THAT(more_than_kept.head, StartsWith(numbered(1, 1000)));
}

TEST(OutputLog, KnowsItsLastLine) {
  EXPECT_EQ(log_of("one\ntwo\n\n  \n").last_line(), "two");
  EXPECT_EQ(log_of("one\ntw").last_line(), "tw");
  EXPECT_EQ(log_of("10%\r20%\r").last_line(), "20%");
  EXPECT_EQ(log_of("x\n" + repeated("€", 1000)).last_line(), repeated("€", 66));
  EXPECT_EQ(log_of(std::string(100'000, '\n')).last_line(), "");
  EXPECT_EQ(log_of(numbered(1, 100'000), kSmall).last_line(), "line 00100000");
  EXPECT_LE(log_of(std::string(10'000, '\x80')).last_line().size(), 200U);
}

TEST(OutputLog, KeepsHeadAndTailInMemoryWhereThereIsNoRoomForAFile) {
  const TemporaryDirectory nowhere("/proc/self/no-such-directory");
  const std::size_t descriptors = open_descriptors();
  OutputLog log(limits::kKeptOutputBytes);
  for (std::uint64_t line = 1; line <= 300'000; line += 100) {
    log.append(numbered(line, line + 99));
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  expect_right_numbers(log);
  EXPECT_THAT(log.dropped()->why, HasSubstr("Cannot make a temporary file: "));
  EXPECT_GT(log.dropped()->first, 4000U);
  EXPECT_LT(log.dropped()->last, 296'000U);
  EXPECT_EQ(log.excerpt(0, 28).tail, numbered(300'000, 300'000));
}

TEST(OutputLog, GoesOnInMemoryWhenTheDiskIsFull) {
  // A limit on the size of files refuses a write just as a full disk does.
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = before;
  limit.rlim_cur = limits::kMiB;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  OutputLog log(limits::kKeptOutputBytes);
  for (std::uint64_t line = 1; line <= 300'000; line += 100) {
    log.append(numbered(line, line + 99));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  expect_right_numbers(log);
  EXPECT_THAT(log.dropped()->why, HasSubstr("Cannot write to a temporary file: "));
  EXPECT_EQ(log.line_count(), 300'000U);
}

TEST(OutputLog, CanBeMoved) {
  OutputLog log = log_of(numbered(1, 50'000));
  const OutputLog moved = std::move(log);
  EXPECT_EQ(moved.read(40'000, 1, kAll).text, numbered(40'000, 40'000));
}

TEST(OutputLog, TakesAFloodInLittleMemoryAndTime) {
  const std::size_t memory = resident_bytes();
  const auto begin = std::chrono::steady_clock::now();
  const std::string piece = numbered(1, 5000);
  OutputLog log(limits::kKeptOutputBytes);
  while (log.size() < 200 * limits::kMiB) {
    log.append(piece);
  }
  log.append("the needle\n");
  const auto written = std::chrono::steady_clock::now();
  EXPECT_EQ(log.search("NEEDLE", 1, 10, kAll).lines.size(), 1U);
  const auto searched = std::chrono::steady_clock::now();
  EXPECT_LT(resident_bytes(), memory + 8 * limits::kMiB);
  // Some twenty times what it takes, for machines that do other things meanwhile.
  EXPECT_LT(written - begin, std::chrono::seconds(10));
  EXPECT_LT(searched - written, std::chrono::seconds(10));
  const auto dropped = log.dropped();
  ASSERT_TRUE(dropped);
  EXPECT_EQ(log.read(dropped->last + 1, 1, kAll).text.substr(0, 8), "line 000");
}

}  // namespace
}  // namespace clmcp::session
