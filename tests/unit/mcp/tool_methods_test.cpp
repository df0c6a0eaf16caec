#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "json/value.h"
#include "rpc/error.h"
#include "support/echo_server.h"
#include "support/memory_client.h"

namespace clmcp::mcp {
namespace {

constexpr std::string_view kEchoSchema =
    R"("inputSchema":{"type":"object","required":["text"],"properties":{)"
    R"("text":{"type":"string","description":"What to say"},)"
    R"("mood":{"type":"string","enum":["plain","angry"],"description":"How to say it"}}})";

constexpr std::string_view kAnnotations =
    R"("annotations":{"title":"Say it again","readOnlyHint":true,"destructiveHint":false,)"
    R"("idempotentHint":true,"openWorldHint":false})";

class ToolTest : public testing::Test {
 protected:
  /// The first tool of tools/list as a client of this revision sees it.
  std::string first_tool(std::string_view revision) {
    client_.initialize(revision);
    client_.request("tools/list");
    return json::print(client_.take_json().at_pointer("/result/tools/0").as_object());
  }

  std::string call(std::string_view params) {
    client_.send(R"({"jsonrpc":"2.0","id":9,"method":"tools/call","params":)" +
                 std::string(params) + "}");
    return client_.take_one();
  }

  static std::string invalid(std::string_view message) {
    return R"({"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":")" + std::string(message) +
           "\"}}";
  }

  static std::string result(std::string_view text, bool is_error = false) {
    return R"({"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":")" +
           std::string(text) + R"("}],"isError":)" + (is_error ? "true" : "false") + "}}";
  }

  test::EchoServer echo_;
  test::MemoryClient client_{echo_.server};
};

TEST_F(ToolTest, IsListedAsItsRevisionKnowsTools) {
  const std::string name = R"({"name":"echo",)";
  const std::string title = R"("title":"Say it again",)";
  const std::string description = R"("description":"Answers with what it got.",)";
  const std::string schema(kEchoSchema);
  const std::string annotations(kAnnotations);
  EXPECT_EQ(first_tool("2024-11-05"), name + description + schema + "}");
  EXPECT_EQ(first_tool("2025-03-26"), name + description + schema + "," + annotations + "}");
  EXPECT_EQ(first_tool("2025-06-18"),
            name + title + description + schema + "," + annotations + "}");
  EXPECT_EQ(first_tool("2025-11-25"),
            name + title + description + schema + "," + annotations + "}");
}

TEST_F(ToolTest, IsListedInTheOrderOfAddingAndWithoutACursor) {
  client_.request("tools/list");
  const json::Value reply = client_.take_json();
  EXPECT_EQ(reply.at_pointer("/result/tools").as_array().size(), 2);
  EXPECT_EQ(reply.at_pointer("/result/tools/1/name"), "wait");
  EXPECT_EQ(reply.at("result").as_object().size(), 1);
}

TEST_F(ToolTest, ListHasOnePageWhateverTheCursor) {
  client_.request("tools/list", {{"cursor", "2"}});
  EXPECT_EQ(client_.take_json().at_pointer("/result/tools").as_array().size(), 2);
  client_.request("tools/list", {{"cursor", nullptr}});
  EXPECT_EQ(client_.take_json().at_pointer("/result/tools").as_array().size(), 2);
}

TEST_F(ToolTest, ListRefusesACursorThatIsNoString) {
  client_.request("tools/list", {{"cursor", 2}});
  EXPECT_EQ(client_.take_one(),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,)"
            R"("message":"Invalid params: parameter 'cursor' must be a string"}})");
}

TEST_F(ToolTest, Answers) {
  EXPECT_EQ(call(R"({"name":"echo","arguments":{"text":"=> 6\n"}})"), result(R"(=> 6\n)"));
  EXPECT_EQ(call(R"({"name":"echo","arguments":{"text":"no","mood":"angry"}})"),
            result("no", true));
}

TEST_F(ToolTest, AnswersWithWellFormedTextWhateverItWasGiven) {
  client_.call_tool("wait");
  std::move(echo_.waiting.at(0)).answer({.text = std::string("a\xFF\0b\xC3", 5)});
  EXPECT_EQ(client_.take_one(),
            R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a)"
            "\xEF\xBF\xBD"
            R"(\u0000b)"
            "\xEF\xBF\xBD"
            R"("}],"isError":false}})");
}

TEST_F(ToolTest, NeedsNoArgumentsWhereItTakesNone) {
  for (const auto* params : {R"({"name":"wait"})", R"({"name":"wait","arguments":null})",
                             R"({"name":"wait","arguments":{}})"}) {
    EXPECT_EQ(call(params), "");
    std::move(echo_.waiting.back()).answer({.text = "done"});
    EXPECT_EQ(client_.take_one(), result("done"));
  }
}

TEST_F(ToolTest, CallNamesWhatIsWrongWithTheEnvelope) {
  for (const auto* revision : {"2025-03-26", "2025-11-25"}) {
    client_.initialize(revision);
    EXPECT_EQ(call("{}"), invalid("Invalid params: missing required parameter 'name'"));
    EXPECT_EQ(call(R"({"name":1})"), invalid("Invalid params: parameter 'name' must be a string"));
    EXPECT_EQ(call(R"({"name":"none"})"), invalid("Unknown tool: none"));
    for (const std::string arguments : {"1", "[]", "true", R"("x")"}) {
      EXPECT_EQ(call(R"({"name":"echo","arguments":)" + arguments + "}"),
                invalid("Invalid params: parameter 'arguments' must be an object"));
    }
  }
}

TEST_F(ToolTest, CallNamesAWrongArgumentInTheWayOfItsRevision) {
  const std::string missing = R"({"name":"echo"})";
  const std::string unknown = R"({"name":"echo","arguments":{"text":"","foo":1}})";
  const std::string big = R"({"name":"echo","arguments":{"text":99999999999999999999}})";
  const std::string why_missing = "Invalid params: missing required parameter 'text'";
  const std::string why_unknown =
      "Invalid params: unknown parameter 'foo'; known parameters: 'text', 'mood'";
  const std::string why_big = "Invalid params: parameter 'text' must be a string";
  for (const auto* revision : {"2024-11-05", "2025-03-26", "2025-06-18"}) {
    client_.initialize(revision);
    EXPECT_EQ(call(missing), invalid(why_missing));
    EXPECT_EQ(call(unknown), invalid(why_unknown));
    EXPECT_EQ(call(big), invalid(why_big));
  }
  client_.initialize("2025-11-25");
  EXPECT_EQ(call(missing), result(why_missing, true));
  EXPECT_EQ(call(unknown), result(why_unknown, true));
  EXPECT_EQ(call(big), result(why_big, true));
}

TEST_F(ToolTest, CallFailsWithAnErrorOfTheProtocol) {
  client_.call_tool("wait");
  std::move(echo_.waiting.at(0)).fail({.code = rpc::Code::kInternalError, .message = "broken"});
  EXPECT_EQ(client_.take_one(),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"broken"}})");
}

TEST_F(ToolTest, CallAnswersByItselfWhenDropped) {
  client_.call_tool("wait");
  echo_.waiting.clear();
  EXPECT_EQ(client_.take_one(),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}})");
}

}  // namespace
}  // namespace clmcp::mcp
