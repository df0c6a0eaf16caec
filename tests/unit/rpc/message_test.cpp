#include "rpc/message.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <gtest/gtest.h>

#include "json/value.h"
#include "rpc/error.h"

namespace clmcp::rpc {
namespace {

Message read(std::string_view text) {
  return classify(*json::parse(text));
}

/// What the client would get for a text that is no message.
std::string fault(std::string_view text) {
  const Message message = read(text);
  const auto* invalid = std::get_if<Invalid>(&message);
  return invalid == nullptr ? "" : print_error(invalid->id, invalid->error, NoId::kNull);
}

std::string invalid(std::string_view id, std::string_view why) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) +
         R"(,"error":{"code":-32600,"message":"Invalid Request","data":")" + std::string(why) +
         "\"}}";
}

TEST(Classify, TellsRequestsFromNotificationsAndResponses) {
  const Message request = read(R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}})");
  ASSERT_TRUE(std::holds_alternative<Request>(request));
  EXPECT_EQ(std::get<Request>(request).id, Id(std::int64_t{7}));
  EXPECT_EQ(std::get<Request>(request).method, "m");
  EXPECT_EQ(json::print(std::get<Request>(request).params), R"({"a":1})");
  const Message notification = read(R"({"jsonrpc":"2.0","method":"n"})");
  ASSERT_TRUE(std::holds_alternative<Notification>(notification));
  EXPECT_EQ(std::get<Notification>(notification).method, "n");
  EXPECT_TRUE(std::get<Notification>(notification).params.empty());
  EXPECT_TRUE(std::holds_alternative<Response>(read(R"({"jsonrpc":"2.0","id":1,"result":{}})")));
  EXPECT_TRUE(std::holds_alternative<Response>(read(R"({"jsonrpc":"2.0","id":null,"error":{}})")));
}

TEST(Classify, TakesNullParametersAsNone) {
  const Message request = read(R"({"jsonrpc":"2.0","id":7,"method":"m","params":null})");
  ASSERT_TRUE(std::holds_alternative<Request>(request));
  EXPECT_TRUE(std::get<Request>(request).params.empty());
}

TEST(Classify, NamesTheFieldThatIsMissing) {
  EXPECT_EQ(fault(R"({"not-jsonrpc":"2.0","method":"initialize"})"),
            invalid("null", "Missing required field: jsonrpc"));
  EXPECT_EQ(fault(R"({"id":5,"method":"m"})"), invalid("5", "Missing required field: jsonrpc"));
  EXPECT_EQ(fault(R"({"jsonrpc":"2.0","id":1})"), invalid("1", "Missing required field: method"));
  EXPECT_EQ(fault("{}"), invalid("null", "Missing required field: jsonrpc"));
}

TEST(Classify, NamesTheFieldThatHasTheWrongType) {
  for (const std::string value : {"1", "null", "true", "[]", "{}", R"("1.0")"}) {
    EXPECT_EQ(fault(R"({"jsonrpc":)" + value + R"(,"id":"x","method":"m"})"),
              invalid(R"("x")", "Field 'jsonrpc' must be '2.0'"));
  }
  for (const std::string value : {"1", "null", "true", "[]", "{}"}) {
    EXPECT_EQ(fault(R"({"jsonrpc":"2.0","id":1,"method":)" + value + "}"),
              invalid("1", "Field 'method' must be a string"));
  }
  for (const std::string value : {"1", "true", "[]", R"("x")"}) {
    EXPECT_EQ(fault(R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + value + "}"),
              invalid("1", "Field 'params' must be an object"));
  }
  for (const std::string value :
       {"null", "1.5", "1.0", "true", "[]", "{}", "18446744073709551616"}) {
    EXPECT_EQ(fault(R"({"jsonrpc":"2.0","method":"m","id":)" + value + "}"),
              invalid("null", "Field 'id' must be a string or an integer"));
  }
}

TEST(Classify, RefusesWhatIsNoObject) {
  for (const auto* text : {"1", "null", "true", R"("x")", "[]", "1.5"}) {
    EXPECT_EQ(fault(text), invalid("null", "A message must be an object"));
  }
}

TEST(Id, ComesBackExactlyAsItWas) {
  for (const std::string id :
       {"0", "-1", "7", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "18446744073709551615", R"("")", R"("7")", R"("a\nb\u0000ä")"}) {
    const Message request = read(R"({"jsonrpc":"2.0","method":"m","id":)" + id + "}");
    ASSERT_TRUE(std::holds_alternative<Request>(request)) << id;
    EXPECT_EQ(print_reply(std::get<Request>(request).id, json::Object()),
              R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{}})");
  }
}

TEST(PrintReply, CarriesAnError) {
  const Error error{.code = Code::kMethodNotFound, .message = "Method not found"};
  EXPECT_EQ(print_reply("x", std::unexpected(error)),
            R"({"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"Method not found"}})");
}

TEST(PrintError, SaysNullOrNothingForAnUnknownId) {
  const Error error{.code = Code::kParseError, .message = "Parse error", .data = "why"};
  EXPECT_EQ(
      print_error(std::nullopt, error, NoId::kNull),
      R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"why"}})");
  EXPECT_EQ(print_error(std::nullopt, error, NoId::kLeftOut),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error","data":"why"}})");
}

}  // namespace
}  // namespace clmcp::rpc
