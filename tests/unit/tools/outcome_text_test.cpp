#include "tools/outcome_text.h"

#include <string>

#include <gtest/gtest.h>

#include "session/session.h"

namespace clmcp::tools {
namespace {

TEST(OutcomeText, ShowsEachValueOnALineOfItsOwn) {
  EXPECT_EQ(outcome_result({.answer = {.values = {{"3", "2"}}}}).text, "=> 3\n=> 2");
}

TEST(OutcomeText, SaysThatThereAreNoValues) {
  EXPECT_EQ(outcome_result({.answer = {.values = std::vector<std::string>{}}}).text, "; No values");
}

TEST(OutcomeText, PutsSectionsBeforeTheValuesWithBlankLinesBetween) {
  const auto result = outcome_result({.answer = {.values = {{"42"}}, .warnings = {"WARNING: w"}},
                                      .output = "Output\n",
                                      .error_output = "Error\n"});
  EXPECT_EQ(result.text, "[stdout]\nOutput\n\n[stderr]\nError\n\n[warnings]\nWARNING: w\n\n=> 42");
  EXPECT_FALSE(result.is_error);
}

TEST(OutcomeText, TrimsLeadingNewlinesAndTrailingSpaceButKeepsIndentation) {
  EXPECT_EQ(outcome_result({.answer = {.values = {{"1"}}}, .output = "\n\n  a\n\n b \n\n"}).text,
            "[stdout]\n  a\n\n b\n\n=> 1");
}

TEST(OutcomeText, LeavesOutASectionOfWhiteSpace) {
  EXPECT_EQ(outcome_result({.answer = {.values = {{"1"}}}, .output = "\n  \n"}).text, "=> 1");
}

TEST(OutcomeText, ShowsAnErrorAfterTheOutputThatCameBeforeIt) {
  const auto result =
      outcome_result({.answer = {.condition = {{.type = "TYPE-ERROR",
                                                .message = "The value 42 is not of type LIST.",
                                                .backtrace = {"(CAR 42)", "(F)"}}}},
                      .output = "x"});
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

}  // namespace
}  // namespace clmcp::tools
