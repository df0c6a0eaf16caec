#include "tools/outcome_text.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "session/output.h"
#include "session/session.h"

namespace clmcp::tools {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::shared_ptr<session::CallOutput> written(std::string_view output,
                                             std::string_view error_output = "") {
  auto written = std::make_shared<session::CallOutput>();
  written->output.append(output);
  written->error_output.append(error_output);
  return written;
}

std::string lines(std::string_view line, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += line;
    text += '\n';
  }
  return text;
}

TEST(OutcomeText, ShowsEachValueOnALineOfItsOwn) {
  EXPECT_EQ(outcome_result({.answer = {.values = {{"3", "2"}}}}).text, "=> 3\n=> 2");
}

TEST(OutcomeText, SaysThatThereAreNoValues) {
  EXPECT_EQ(outcome_result({.answer = {.values = std::vector<std::string>{}}}).text, "; No values");
}

TEST(OutcomeText, PutsSectionsBeforeTheValuesWithBlankLinesBetween) {
  const auto result = outcome_result({.answer = {.values = {{"42"}}, .warnings = {"WARNING: w"}},
                                      .written = written("Output\n", "Error\n")});
  EXPECT_EQ(result.text, "[stdout]\nOutput\n\n[stderr]\nError\n\n[warnings]\nWARNING: w\n\n=> 42");
  EXPECT_FALSE(result.is_error);
}

TEST(OutcomeText, TrimsLeadingNewlinesAndTrailingSpaceButKeepsIndentation) {
  EXPECT_EQ(
      outcome_result({.answer = {.values = {{"1"}}}, .written = written("\n\n  a\n\n b \n\n")})
          .text,
      "[stdout]\n  a\n\n b\n\n=> 1");
}

TEST(OutcomeText, LeavesOutASectionOfWhiteSpace) {
  EXPECT_EQ(outcome_result({.answer = {.values = {{"1"}}}, .written = written("\n  \n")}).text,
            "=> 1");
}

TEST(OutcomeText, ShowsAnErrorAfterTheOutputThatCameBeforeIt) {
  const auto result =
      outcome_result({.answer = {.condition = {{.type = "TYPE-ERROR",
                                                .message = "The value 42 is not of type LIST.",
                                                .backtrace = {"(CAR 42)", "(F)"}}}},
                      .written = written("x")});
  EXPECT_EQ(result.text,
            "[stdout]\nx\n\n[ERROR] TYPE-ERROR\nThe value 42 is not of type LIST.\n\n"
            "[Backtrace]\n0: (CAR 42)\n1: (F)");
  EXPECT_TRUE(result.is_error);
}

TEST(OutcomeText, LeavesOutABacktraceThatIsNotThere) {
  EXPECT_EQ(outcome_result({.answer = {.condition = {{"A", "b", {}}}}}).text, "[ERROR] A\nb");
}

TEST(OutcomeText, BeginsWithWhatHappenedBefore) {
  EXPECT_EQ(outcome_result({.answer = {.values = {{"1"}}}, .notice = "It died."}).text,
            "[notice]\nIt died.\n\n=> 1");
}

TEST(OutcomeText, ShowsOnlyWhatAnEarlierReplyDidNotShow) {
  EXPECT_EQ(outcome_result({.answer = {.values = {{"1"}}},
                            .written = written("a\nb\n", "c\n"),
                            .output_from = 2,
                            .error_output_from = 2})
                .text,
            "[stdout]\nb\n\n=> 1");
}

TEST(OutcomeText, IsWholeUpToTheBudget) {
  const std::string value(limits::kReplyCharacters - 5, 'x');
  EXPECT_EQ(outcome_result({.answer = {.values = {{value}}}}).text, "=> " + value);
  EXPECT_THAT(outcome_result({.answer = {.values = {{value + "xx"}}}}).text,
              HasSubstr("bytes left out ...]\nx"));
}

TEST(OutcomeText, CutsAFloodAndNeitherTheValueNorTheError) {
  const std::string flood = lines("0123456789", 100'000);
  const auto value = outcome_result(
      {.answer = {.values = {{"42"}}}, .number = 7, .written = written(flood, "small\n")});
  EXPECT_THAT(value.text, StartsWith("[stdout]\n0123456789\n"));
  EXPECT_THAT(value.text, HasSubstr(" lines left out: read-output with call 7 shows them, lines "));
  EXPECT_THAT(value.text, EndsWith("0123456789\n\n[stderr]\nsmall\n\n=> 42"));
  EXPECT_LE(value.text.size(), limits::kReplyCharacters);
  EXPECT_GE(value.text.size(), limits::kReplyCharacters - 100);
  const auto error =
      outcome_result({.answer = {.condition = {{"A", "b", {"(F)"}}}}, .written = written(flood)});
  EXPECT_THAT(error.text, EndsWith("0123456789\n\n[ERROR] A\nb\n\n[Backtrace]\n0: (F)"));
}

TEST(OutcomeText, SharesTheBudgetAmongWhatIsLarge) {
  const std::string flood = lines("0123456789", 100'000);
  const std::vector<std::string> frames(10'000, "(FRAME)");
  const auto both = written(flood, flood);
  const auto result =
      outcome_result({.answer = {.warnings = {std::string(100'000, 'w')},
                                 .condition = {{"A", std::string(100'000, 'm'), frames}}},
                      .number = 3,
                      .written = both,
                      .notice = "It died."},
                     10'000);
  EXPECT_LE(result.text.size(), 10'000U);
  EXPECT_GE(result.text.size(), 9'700U);
  EXPECT_THAT(result.text, StartsWith("[notice]\nIt died.\n\n[stdout]\n"));
  EXPECT_THAT(result.text, HasSubstr("and stream stderr shows them"));
  EXPECT_THAT(result.text, HasSubstr("\n\n[warnings]\nwww"));
  EXPECT_THAT(result.text, HasSubstr("\n\n[ERROR] A\nmmm"));
  EXPECT_THAT(result.text, HasSubstr("\n\n[Backtrace]\n0: (FRAME)\n"));
  EXPECT_THAT(result.text, EndsWith("\n9999: (FRAME)"));
  EXPECT_EQ(both->result.size(), std::string("[warnings]\n\n[ERROR] A\n\n[Backtrace]\n\n").size() +
                                     200'000 + 10'000 * std::string("\n0000: (FRAME)").size() - 1 -
                                     (10 * 3 + 90 * 2 + 900));
}

TEST(OutcomeText, KeepsTheWholeOfAValueThatIsCut) {
  const auto kept = written("");
  const std::string value = lines("0123456789", 10'000);
  const auto result =
      outcome_result({.answer = {.values = {{value, "2"}}}, .number = 5, .written = kept}, 2'000);
  EXPECT_THAT(result.text, StartsWith("=> 0123456789\n"));
  EXPECT_THAT(result.text, EndsWith("\n=> 2"));
  EXPECT_THAT(result.text,
              HasSubstr("read-output with call 5 and stream result shows them, lines "));
  EXPECT_EQ(kept->result.excerpt(0, 1'000'000).head, "=> " + value + "\n=> 2\n");
}

TEST(OutcomeText, KeepsNothingOfWhatItShowsWhole) {
  const auto kept = written("");
  (void)outcome_result({.answer = {.values = {{"1"}}}, .written = kept});
  EXPECT_EQ(kept->result.size(), 0U);
}

TEST(OutcomeText, HoldsTheBudgetWithinItsBounds) {
  const auto flood = written(lines("0123456789", 2'000'000));
  const session::Outcome outcome = {.answer = {.values = {{"1"}}}, .written = flood};
  EXPECT_GE(outcome_result(outcome, 0).text.size(), limits::kLeastReplyCharacters - 100);
  EXPECT_LE(outcome_result(outcome, 0).text.size(), limits::kLeastReplyCharacters);
  EXPECT_LE(outcome_result(outcome, 1'000'000'000).text.size(), limits::kMostReplyCharacters);
}

TEST(OutcomeText, CountsCharactersAndNotBytes) {
  std::string text;
  for (std::size_t i = 0; i < 900; ++i) {
    text += "€";
  }
  EXPECT_THAT(outcome_result({.answer = {.values = {{"1"}}}, .written = written(text)}, 1'000).text,
              Not(HasSubstr("left out")));
  text += text;
  const std::string cut =
      outcome_result({.answer = {.values = {{"1"}}}, .written = written(text)}, 1'000).text;
  EXPECT_LE(count_characters(cut), 1'000U);
  EXPECT_EQ(repair_utf8(cut), cut);
}

TEST(OutcomeText, IsWithinTheBudgetWhateverTheBytes) {
  const auto garbage = written(std::string(1'000'000, '\x80'), std::string(1'000'000, '\xF0'));
  const std::string text = outcome_result({.answer = {.values = {{"1"}}}, .written = garbage}).text;
  EXPECT_LE(count_characters(text), limits::kReplyCharacters);
}

}  // namespace
}  // namespace clmcp::tools
