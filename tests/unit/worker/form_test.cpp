#include "worker/form.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/limits.h"

namespace clmcp::worker {
namespace {

std::string reprinted(const std::string& text) {
  const auto form = parse_form(text);
  return form ? print_form(*form) : "error: " + form.error().message;
}

TEST(Form, PrintsWhatItReads) {
  for (const std::string text : {
           "nil",
           "t",
           "0",
           "-9223372036854775808",
           "9223372036854775807",
           ":done",
           "()",
           R"("")",
           R"("a \"quoted\" \\ word")",
           "\"λ → \xF0\x9F\x98\x80\"",
           R"((:done :id 7 :values ("3" "2") :condition (:type "A" :backtrace ())))",
       }) {
    EXPECT_EQ(reprinted(text), text);
  }
}

TEST(Form, RefusesEveryCutOfAMessage) {
  const std::string whole = R"((:done :id 7 :values ("a\"b" nil t)))";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_form(whole.substr(0, length)).has_value()) << whole.substr(0, length);
  }
}

TEST(Form, RefusesWhatIsNotInTheSubset) {
  for (const std::string text : {"", " nil", "nil ", "foo", "'x", "(a . b)", "#.(quit)", ":", "1.5",
                                 "9223372036854775808", "(nil  nil)", "(nil", "nil)", ")"}) {
    EXPECT_FALSE(parse_form(text).has_value()) << text;
  }
}

TEST(Form, RefusesNestingBeyondItsLimit) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + std::string(depth, ')');
  };
  EXPECT_TRUE(parse_form(nested(limits::kFormDepth)).has_value());
  EXPECT_FALSE(parse_form(nested(limits::kFormDepth + 2)).has_value());
  EXPECT_FALSE(parse_form(std::string(200'000, '(')).has_value());
}

TEST(Form, FindsAPropertyByItsKey) {
  const auto form = parse_form(R"((:done :id 7 :text "id"))");
  EXPECT_EQ(*find_property(*form->list(), "text", 1)->string(), "id");
  EXPECT_EQ(find_property(*form->list(), "values", 1), nullptr);
}

}  // namespace
}  // namespace clmcp::worker
