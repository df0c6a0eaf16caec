#include "json/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/result.h"
#include "json/value.h"

namespace clmcp::json {
namespace {

struct Args {
  std::string code;
  std::optional<std::string> package;
  std::optional<std::string> type;

  void fields(auto& f) {
    f.need("code", code, "What to evaluate");
    f.opt("package", package, "Where to read it");
    f.choice("type", type, {"all", "functions"}, "Which");
  }
};

struct Numbers {
  std::int64_t count = 0;
  std::optional<double> factor;
  std::optional<bool> loud;

  void fields(auto& f) {
    f.need("count", count, "How many");
    f.opt("factor", factor, "How much");
    f.opt("loud", loud, "How");
  }
};

struct Limited {
  std::string verb;
  std::int64_t count = 0;
  double share = 0;
  std::optional<std::int64_t> depth;
  std::optional<double> wait;

  void fields(auto& f) {
    f.need_choice("verb", verb, {"start", "stop"}, "What to do");
    f.need("count", count, "How many", Range{1, 100});
    f.need("share", share, "How much", Range{-1, 1});
    f.opt("depth", depth, "How deep", Range{0, INT64_MAX});
    f.opt("wait", wait, "How long", Range{0, 86400});
  }
};

struct Nothing {
  void fields(auto& /*f*/) {}
};

template <typename T>
Result<T> read(std::string_view text) {
  return decode<T>(parse(text)->get_object());
}

template <typename T = Args>
std::string error_of(std::string_view text) {
  const auto read_value = read<T>(text);
  return read_value ? "" : read_value.error().message;
}

TEST(Schema, IsWrittenInTheOrderOfTheContract) {
  EXPECT_EQ(print(schema_of<Args>()),
            R"({"type":"object","required":["code"],"properties":{)"
            R"("code":{"type":"string","description":"What to evaluate"},)"
            R"("package":{"type":"string","description":"Where to read it"},)"
            R"("type":{"type":"string","enum":["all","functions"],"description":"Which"}}})");
}

TEST(Schema, NamesEveryTypeOfField) {
  EXPECT_EQ(print(schema_of<Numbers>()), R"({"type":"object","required":["count"],"properties":{)"
                                         R"("count":{"type":"integer","description":"How many"},)"
                                         R"("factor":{"type":"number","description":"How much"},)"
                                         R"("loud":{"type":"boolean","description":"How"}}})");
}

TEST(Schema, HasTheLimitsOfItsFields) {
  EXPECT_EQ(print(schema_of<Limited>()),
            R"({"type":"object","required":["verb","count","share"],"properties":{)"
            R"("verb":{"type":"string","enum":["start","stop"],"description":"What to do"},)"
            R"("count":{"type":"integer","minimum":1,"maximum":100,"description":"How many"},)"
            R"("share":{"type":"number","minimum":-1,"maximum":1,"description":"How much"},)"
            R"("depth":{"type":"integer","minimum":0,"maximum":9223372036854775807,)"
            R"("description":"How deep"},)"
            R"("wait":{"type":"number","minimum":0,"maximum":86400,"description":"How long"}}})");
}

TEST(Schema, LeavesRequiredOutWhereNothingIs) {
  EXPECT_EQ(print(schema_of<Nothing>()), R"({"type":"object","properties":{}})");
}

TEST(Decode, FillsTheFields) {
  const auto args = read<Args>(R"({"type":"all","code":"(+ 1 2)\u0000"})");
  ASSERT_TRUE(args);
  EXPECT_EQ(args->code, std::string("(+ 1 2)\0", 8));
  EXPECT_EQ(args->package, std::nullopt);
  EXPECT_EQ(args->type, "all");
  const auto numbers = read<Numbers>(R"({"count":-5,"factor":2,"loud":true})");
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->count, -5);
  EXPECT_EQ(numbers->factor, 2.0);
  EXPECT_EQ(numbers->loud, true);
  EXPECT_TRUE(read<Nothing>("{}"));
}

TEST(Decode, TakesANullForAnOptionalFieldAsAbsent) {
  const auto args = read<Args>(R"({"code":"","package":null,"type":null})");
  ASSERT_TRUE(args);
  EXPECT_EQ(args->package, std::nullopt);
  EXPECT_EQ(args->type, std::nullopt);
  EXPECT_EQ(error_of(R"({"code":null})"), "parameter 'code' must be a string");
}

TEST(Decode, TakesAWholeNumberWithAPointAsAnInteger) {
  EXPECT_EQ(read<Numbers>(R"({"count":30.0})")->count, 30);
  EXPECT_EQ(read<Numbers>(R"({"count":-9223372036854775808})")->count, INT64_MIN);
  for (const auto* text : {R"({"count":1.5})", R"({"count":9223372036854775808})",
                           R"({"count":99999999999999999999})", R"({"count":1e400})"}) {
    EXPECT_EQ(error_of<Numbers>(text), "parameter 'count' must be an integer") << text;
  }
}

/// Limited with one more field; those it needs are there.
std::string limited(std::string_view more) {
  return R"({"verb":"stop","count":1,"share":1,)" + std::string(more) + "}";
}

TEST(Decode, TakesWhatIsWithinTheLimits) {
  const auto low = read<Limited>(R"({"verb":"stop","count":1,"share":-1,"depth":0,"wait":0})");
  ASSERT_TRUE(low);
  EXPECT_EQ(low->verb, "stop");
  EXPECT_EQ(low->count, 1);
  EXPECT_EQ(low->share, -1.0);
  EXPECT_EQ(low->depth, 0);
  EXPECT_EQ(low->wait, 0.0);
  const auto high = read<Limited>(
      R"({"verb":"start","count":100.0,"share":0.5,"depth":9223372036854775807,"wait":864e2})");
  ASSERT_TRUE(high);
  EXPECT_EQ(high->count, 100);
  EXPECT_EQ(high->share, 0.5);
  EXPECT_EQ(high->depth, INT64_MAX);
  EXPECT_EQ(high->wait, 86400.0);
  const auto none = read<Limited>(limited(R"("depth":null)"));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->depth, std::nullopt);
  EXPECT_EQ(none->wait, std::nullopt);
}

TEST(Decode, NamesTheLimitsOfWhatIsBeyondThem) {
  for (const std::string count :
       {"0", "101", "-1", "1.5", "1e999", "99999999999999999999", "\"1\"", "null"}) {
    EXPECT_EQ(error_of<Limited>(R"({"verb":"stop","share":1,"count":)" + count + "}"),
              "parameter 'count' must be an integer from 1 to 100")
        << count;
  }
  for (const std::string wait : {"-0.001", "86400.5", "1e999", "-1e999", "true"}) {
    EXPECT_EQ(error_of<Limited>(limited(R"("wait":)" + wait)),
              "parameter 'wait' must be a number from 0 to 86400")
        << wait;
  }
  EXPECT_EQ(error_of<Limited>(limited(R"("depth":-1)")),
            "parameter 'depth' must be an integer from 0 to 9223372036854775807");
  EXPECT_EQ(error_of<Limited>(R"({"verb":"stop","count":1,"share":1.5})"),
            "parameter 'share' must be a number from -1 to 1");
  EXPECT_EQ(error_of<Limited>(R"({"verb":"stop","share":1})"),
            "missing required parameter 'count'");
}

TEST(Decode, NamesTheChoicesOfWhatMustBeChosen) {
  EXPECT_EQ(error_of<Limited>(R"({"count":1,"share":1})"), "missing required parameter 'verb'");
  EXPECT_EQ(error_of<Limited>(R"({"verb":"","count":1,"share":1})"),
            "parameter 'verb' must be one of 'start', 'stop'");
  EXPECT_EQ(error_of<Limited>(R"({"verb":null,"count":1,"share":1})"),
            "parameter 'verb' must be a string");
}

TEST(Decode, NamesWhatIsWrong) {
  EXPECT_EQ(error_of("{}"), "missing required parameter 'code'");
  EXPECT_EQ(error_of(R"({"code":42})"), "parameter 'code' must be a string");
  EXPECT_EQ(error_of(R"({"code":"","package":["x"]})"), "parameter 'package' must be a string");
  EXPECT_EQ(error_of(R"({"code":"","type":"macros"})"),
            "parameter 'type' must be one of 'all', 'functions'");
  EXPECT_EQ(error_of(R"({"code":"","type":1})"), "parameter 'type' must be a string");
  EXPECT_EQ(error_of<Numbers>(R"({"count":1,"factor":"2"})"),
            "parameter 'factor' must be a number");
  EXPECT_EQ(error_of<Numbers>(R"({"count":1,"factor":1e400})"),
            "parameter 'factor' must be a number");
  EXPECT_EQ(error_of<Numbers>(R"({"count":1,"loud":0})"), "parameter 'loud' must be a boolean");
}

TEST(Decode, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(error_of(R"({"code":"","foo":1})"),
            "unknown parameter 'foo'; known parameters: 'code', 'package', 'type'");
  EXPECT_EQ(error_of<Nothing>(R"({"foo":1})"), "unknown parameter 'foo'; there are no parameters");
}

/// What another folder might write: the fields as a message in another notation.
class Message {
 public:
  void need(std::string_view name, const std::string& field, std::string_view /*doc*/) {
    text += std::string(name) + "=" + field + ";";
  }

  void opt(std::string_view name, const std::optional<std::string>& field, std::string_view doc) {
    need(name, field.value_or("-"), doc);
  }

  void choice(std::string_view name, const std::optional<std::string>& field, Choices /*choices*/,
              std::string_view doc) {
    opt(name, field, doc);
  }

  std::string text;
};

TEST(Fields, CanBeReadByOthers) {
  Args args{.code = "1", .package = std::nullopt, .type = "all"};
  Message message;
  args.fields(message);
  EXPECT_EQ(message.text, "code=1;package=-;type=all;");
}

}  // namespace
}  // namespace clmcp::json
