#include "json/value.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/limits.h"

namespace clmcp::json {
namespace {

std::string error_of(std::string_view text) {
  const auto value = parse(text);
  return value ? "" : value.error().message;
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Parse, ReadsEveryKindOfValue) {
  const auto value =
      parse(R"({"s":"ä","i":-1,"u":18446744073709551615,"d":1.5,"b":true,"n":null,"a":[]})");
  ASSERT_TRUE(value);
  EXPECT_EQ(print(value->get_object()),
            R"({"s":"ä","i":-1,"u":18446744073709551615,"d":1.5E0,"b":true,"n":null,"a":[]})");
}

TEST(Parse, TurnsIntegersBeyond64BitsIntoDoubles) {
  EXPECT_TRUE(parse("18446744073709551616")->is_double());
  EXPECT_TRUE(parse("-9223372036854775809")->is_double());
  EXPECT_TRUE(parse(std::string(5000, '9'))->is_double());
}

TEST(Parse, LetsTheLastOfTwoEqualKeysCount) {
  EXPECT_EQ(print(parse(R"({"a":1,"b":2,"a":3})")->get_object()), R"({"a":3,"b":2})");
}

TEST(Parse, SaysWhereAnErrorIs) {
  EXPECT_EQ(error_of("[1,,2]"), "syntax error or invalid UTF-8 at byte 3");
  EXPECT_EQ(error_of("{} {}"), "extra data at byte 3");
  EXPECT_EQ(error_of(R"({"a":)"), "incomplete JSON at byte 5");
  EXPECT_EQ(parse("x").error().code, ErrorCode::kSyntax);
}

TEST(Parse, RefusesWhatIsNotText) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text :
       {"\"\xFF\""sv, "\"\xC0\xAF\""sv, "\"\xED\xA0\x80\""sv, "\"\xF5\x80\x80\x80\""sv,
        "\"\xE2\x82\""sv, "\"a\0b\""sv, "\0{}"sv, "{}\0"sv, R"("\ud800")"sv, R"("\udc00")"sv,
        R"("\ud800\u0041")"sv, "\"\t\""sv, "\xEF\xBB\xBF{}"sv, ""sv, "NaN"sv, "01"sv, "[1,]"sv,
        "'a'"sv}) {
    EXPECT_NE(error_of(text), "") << text;
  }
}

TEST(Parse, AcceptsAnEscapedNullCharacter) {
  EXPECT_EQ(parse(R"("a\u0000b")")->get_string().size(), 3);
}

TEST(Parse, StopsAtTheLimitOfNesting) {
  EXPECT_EQ(error_of(nested(limits::kJsonDepth)), "");
  EXPECT_EQ(error_of(nested(limits::kJsonDepth + 1)), "nesting deeper than 64 levels");
  EXPECT_EQ(error_of(nested(200'000)), "nesting deeper than 64 levels");
  EXPECT_EQ(error_of(std::string(200'000, '[')), "nesting deeper than 64 levels");
}

TEST(Print, KeepsTheOrderOfKeysAndStaysOnOneLine) {
  EXPECT_EQ(print({{"z", "a\nb\r\u2028"}, {"a", 1}}), "{\"z\":\"a\\nb\\r\u2028\",\"a\":1}");
}

}  // namespace
}  // namespace clmcp::json
