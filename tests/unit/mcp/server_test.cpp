#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "json/value.h"
#include "rpc/exchange.h"
#include "support/echo_server.h"
#include "support/memory_client.h"

namespace clmcp::mcp {
namespace {

class ServerTest : public testing::Test {
 protected:
  std::string ask(std::string_view text) {
    client_.send(text);
    return client_.take_one();
  }

  test::EchoServer echo_;
  test::MemoryClient client_{echo_.server};
};

TEST_F(ServerTest, AnswersPingWithAnEmptyResult) {
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":"p","method":"ping"})"),
            R"({"jsonrpc":"2.0","id":"p","result":{}})");
}

TEST_F(ServerTest, NamesAnUnknownMethod) {
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":1,"method":"unknown-method"})"),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found",)"
            R"("data":"Method 'unknown-method' is not supported"}})");
}

TEST_F(ServerTest, AnswersTheProbeOfALaterRevisionAsAnyUnknownMethod) {
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":)"
                R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"),
            R"({"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found",)"
            R"("data":"Method 'server/discover' is not supported"}})");
}

TEST_F(ServerTest, IgnoresNotifications) {
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), "");
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":[]}})"), "");
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait"}})"), "");
  EXPECT_TRUE(echo_.waiting.empty());
}

TEST_F(ServerTest, ServesClientsThatNeverInitialized) {
  client_.call_tool("echo", {{"text", "hi"}});
  EXPECT_EQ(client_.take_json().at_pointer("/result/content/0/text"), "hi");
}

TEST_F(ServerTest, AnswersOthersWhileACallRuns) {
  client_.call_tool("wait");
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":7,"method":"ping"})"),
            R"({"jsonrpc":"2.0","id":7,"result":{}})");
  EXPECT_EQ(client_.client().in_flight(), 1);
}

TEST_F(ServerTest, CancelsARequest) {
  int told = 0;
  const auto id = client_.call_tool("wait");
  echo_.waiting.at(0).on_cancel([&told] { ++told; });
  client_.notify("notifications/cancelled", {{"requestId", id}, {"reason", "bored"}});
  EXPECT_EQ(told, 1);
  EXPECT_EQ(client_.client().in_flight(), 0);
  std::move(echo_.waiting.at(0)).answer({.text = "too late"});
  EXPECT_EQ(client_.take_one(), "");
}

TEST_F(ServerTest, IgnoresCancellationsOfNothing) {
  client_.call_tool("wait");
  for (const auto* params :
       {"{}", R"({"requestId":99})", R"({"requestId":null})", R"({"requestId":{}})",
        R"({"requestId":"1"})", R"({"requestId":1.0})"}) {
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)" +
                  std::string(params) + "}"),
              "");
  }
  EXPECT_EQ(client_.client().in_flight(), 1);
}

TEST_F(ServerTest, AnswersBothOfTwoRequestsWithOneId) {
  const std::string request =
      R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"wait"}})";
  EXPECT_EQ(ask(request), "");
  EXPECT_EQ(ask(request), "");
  echo_.waiting.clear();
  EXPECT_EQ(client_.take().size(), 2);
}

TEST_F(ServerTest, TakesBatchesUpTo20250326) {
  const std::string batch =
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}])";
  EXPECT_EQ(ask(batch), R"([{"jsonrpc":"2.0","id":1,"result":{}}])");
  for (const auto* revision : {"2024-11-05", "2025-03-26"}) {
    client_.initialize(revision);
    EXPECT_EQ(ask(batch), R"([{"jsonrpc":"2.0","id":1,"result":{}}])");
  }
  client_.initialize("2025-06-18");
  EXPECT_EQ(ask(batch),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request",)"
            R"("data":"Batches were removed in revision 2025-06-18; send messages one by one"}})");
  client_.initialize("2025-11-25");
  EXPECT_EQ(ask(batch),
            R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request",)"
            R"("data":"Batches were removed in revision 2025-06-18; send messages one by one"}})");
}

TEST_F(ServerTest, LeavesOutAnIdItCouldNotReadFrom20251125On) {
  const std::string with_null = R"({"jsonrpc":"2.0","id":null,"error":)";
  const std::string without = R"({"jsonrpc":"2.0","error":)";
  EXPECT_TRUE(ask("{").starts_with(with_null));
  client_.initialize("2025-06-18");
  EXPECT_TRUE(ask("{").starts_with(with_null));
  EXPECT_TRUE(ask(R"({"method":"x"})").starts_with(with_null));
  client_.initialize("2025-11-25");
  EXPECT_TRUE(ask("{").starts_with(without));
  EXPECT_TRUE(ask(R"({"method":"x"})").starts_with(without));
  EXPECT_TRUE(ask(R"({"id":3,"method":"x"})").starts_with(R"({"jsonrpc":"2.0","id":3,"error":)"));
}

TEST_F(ServerTest, RefusesWhatCouldNotBeTakenIn) {
  std::vector<std::string> sent;
  client_.client().refuse(
      {.code = ErrorCode::kLimit, .message = "too long"},
      [&sent](std::string text, rpc::Part /*part*/) { sent.push_back(std::move(text)); });
  EXPECT_EQ(sent, std::vector<std::string>{R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,)"
                                           R"("message":"Invalid Request","data":"too long"}})"});
}

TEST_F(ServerTest, SurvivesEveryHostileText) {
  using std::string_literals::operator""s;
  for (const std::string& text :
       {"{"s, "nonsense"s, "\xFF\xFE"s, "{\"a\":\"\xC3\"}"s, std::string(200'000, '['),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\0ng\"}"s,
        R"({"jsonrpc":"2.0","id":1,"method":"\ud800"})"s,
        R"({"jsonrpc":"2.0","id":1e999,"method":"ping"})"s,
        R"({"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"})"s, "null"s,
        "0"s}) {
    EXPECT_NE(ask(text).find(R"("error")"), std::string::npos) << text.substr(0, 80);
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":-1,"method":"ping"})"),
              R"({"jsonrpc":"2.0","id":-1,"result":{}})");
  }
}

TEST_F(ServerTest, OutlivesItsClients) {
  {
    test::MemoryClient brief(echo_.server);
    brief.call_tool("wait");
  }
  std::move(echo_.waiting.at(0)).answer({.text = "nobody there"});
  client_.call_tool("echo", {{"text", "still here"}});
  EXPECT_EQ(client_.take_json().at_pointer("/result/content/0/text"), "still here");
}

}  // namespace
}  // namespace clmcp::mcp
