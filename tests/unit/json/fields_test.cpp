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
