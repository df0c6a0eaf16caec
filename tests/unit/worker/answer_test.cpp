#include "worker/answer.h"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "worker/form.h"
#include "worker/worker.h"

namespace clmcp::worker {
namespace {

TEST(Answer, IsReadWithAllItsParts) {
  const auto message = parse_agent_message(
      R"((:done :id 7 :values ("3" "2") :text "t" :warnings ("w") :package "P" )"
      R"(:condition (:type "T" :message "M" :backtrace ("f")) :systems (("a" "/a.asd") ("b" nil))))");
  ASSERT_TRUE(message.has_value()) << message.error().message;
  const Done& done = std::get<Done>(*message);
  EXPECT_EQ(done.id, 7);
  EXPECT_EQ(done.answer.values, (std::vector<std::string>{"3", "2"}));
  EXPECT_EQ(done.answer.text, "t");
  EXPECT_EQ(done.answer.warnings, std::vector<std::string>{"w"});
  EXPECT_EQ(done.answer.package, "P");
  EXPECT_EQ(done.answer.condition->backtrace, std::vector<std::string>{"f"});
  EXPECT_EQ(done.answer.systems->at(0).definition, "/a.asd");
  EXPECT_FALSE(done.answer.systems->at(1).definition.has_value());
}

TEST(Answer, CarriesTheDefinitionsOfAnEvaluation) {
  const auto message =
      parse_agent_message(R"x((:done :id 1 :definitions (("(defvar *λ*)" "P") ("(f)" "Q"))))x");
  ASSERT_TRUE(message.has_value()) << message.error().message;
  const std::vector<Definition>& definitions = std::get<Done>(*message).answer.definitions;
  ASSERT_EQ(definitions.size(), 2U);
  EXPECT_EQ(definitions.front().text, "(defvar *λ*)");
  EXPECT_EQ(definitions.front().package, "P");
  EXPECT_EQ(definitions.back().package, "Q");
}

TEST(Answer, TellsNoValuesFromNothingSaid) {
  const auto with = parse_agent_message("(:done :id 1 :values ())");
  EXPECT_TRUE(std::get<Done>(*with).answer.values->empty());
  const auto without = parse_agent_message("(:done :id 1)");
  EXPECT_FALSE(std::get<Done>(*without).answer.values.has_value());
}

TEST(Answer, RefusesWhatTheAgentWouldNotSay) {
  for (const char* text :
       {"nil", "()", "(\"done\")", "(:done)", "(:done :id \"7\")", "(:done :id 1 :values (1))",
        "(:done :id 1 :text 2)", "(:done :id 1 :condition (:type \"T\"))", "(:hello)", "(:ready)",
        "(:done :id 1 :systems ((\"a\")))", "(:done :id 1 :definitions ((\"a\")))",
        "(:done :id 1 :definitions 1)"}) {
    EXPECT_FALSE(parse_agent_message(text).has_value()) << text;
  }
}

TEST(Answer, MayBePrecededByWhereTheCodeWas) {
  const auto message = parse_agent_message(R"x((:interrupting :id 7 :backtrace ("(F 1)" "(G)")))x");
  EXPECT_EQ(std::get<Interrupting>(*message).id, 7);
  EXPECT_EQ(std::get<Interrupting>(*message).backtrace, (std::vector<std::string>{"(F 1)", "(G)"}));
  EXPECT_FALSE(parse_agent_message("(:interrupting :id 7)").has_value());
}

TEST(Answer, MayBeTheFirstWordOfAFrozenCopy) {
  const auto message = parse_agent_message("(:frozen :pid 4711)");
  EXPECT_EQ(std::get<FrozenCopy>(*message).pid, 4711);
  EXPECT_FALSE(parse_agent_message("(:frozen)").has_value());
}

TEST(Answer, AsksUnderANumber) {
  EXPECT_EQ(print_request({.operation = "evaluate",
                           .arguments = {{Keyword{"code"}}, {std::string("(car \"x\")")}}},
                          7),
            R"x((:evaluate :id 7 :code "(car \"x\")"))x");
}

}  // namespace
}  // namespace clmcp::worker
