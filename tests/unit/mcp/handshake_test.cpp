#include "mcp/handshake.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "json/value.h"
#include "mcp/revision.h"
#include "support/echo_server.h"
#include "support/memory_client.h"

namespace clmcp::mcp {
namespace {

class HandshakeTest : public testing::Test {
 protected:
  std::string initialize(std::string_view revision) {
    client_.request("initialize", {{"protocolVersion", revision},
                                   {"capabilities", json::Object()},
                                   {"clientInfo", {{"name", "t"}, {"version", "1"}}}});
    return client_.take_one();
  }

  std::string answer(std::string_view params) {
    client_.send(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":)" +
                 std::string(params) + "}");
    return client_.take_one();
  }

  test::EchoServer echo_;
  test::MemoryClient client_{echo_.server};
};

TEST_F(HandshakeTest, AnswersWithTheRevisionThatWasAskedFor) {
  EXPECT_EQ(initialize("2024-11-05"),
            R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05",)"
            R"("capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1.2.3"},)"
            R"("instructions":"Speak."}})");
  EXPECT_EQ(client_.client().revision(), Revision::k2024_11_05);
  EXPECT_EQ(initialize("2025-03-26"),
            R"({"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-03-26",)"
            R"("capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1.2.3"},)"
            R"("instructions":"Speak."}})");
}

TEST_F(HandshakeTest, HasATitleFrom20250618On) {
  for (const std::string revision : {"2025-06-18", "2025-11-25"}) {
    EXPECT_NE(initialize(revision).find(R"("protocolVersion":")" + revision +
                                        R"(","capabilities":{"tools":{}},"serverInfo":)"
                                        R"({"name":"echo","title":"Echo","version":"1.2.3"})"),
              std::string::npos);
  }
}

TEST_F(HandshakeTest, AnswersAnUnknownRevisionWithTheNewest) {
  for (const std::string revision : {"2026-07-28", "1.0", "", "2024-11-05x"}) {
    EXPECT_NE(initialize(revision).find(R"("protocolVersion":"2025-11-25")"), std::string::npos);
    EXPECT_EQ(client_.client().revision(), kNewestRevision);
  }
}

TEST_F(HandshakeTest, NeedsNothingButTheRevision) {
  EXPECT_NE(answer(R"({"protocolVersion":"2025-03-26"})").find(R"("result")"), std::string::npos);
  EXPECT_NE(answer(R"({"protocolVersion":"2025-03-26","clientInfo":7,"capabilities":[]})")
                .find(R"("result")"),
            std::string::npos);
}

TEST_F(HandshakeTest, NamesTheRevisionWhenItIsMissingOrWrong) {
  EXPECT_EQ(answer("{}"),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,)"
            R"("message":"Invalid params: missing required parameter 'protocolVersion'"}})");
  EXPECT_EQ(answer(R"({"protocolVersion":20250326})"),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,)"
            R"("message":"Invalid params: parameter 'protocolVersion' must be a string"}})");
  EXPECT_EQ(client_.client().revision(), kAssumedRevision);
}

TEST_F(HandshakeTest, MayComeAgain) {
  client_.initialize("2025-11-25");
  client_.initialize("2024-11-05");
  EXPECT_EQ(client_.client().revision(), Revision::k2024_11_05);
}

TEST_F(HandshakeTest, LeavesInstructionsOutWhereThereAreNone) {
  const auto handshake =
      shake_hands({{"protocolVersion", "2025-03-26"}},
                  {.name = "n", .title = "", .version = "1", .instructions = ""});
  ASSERT_TRUE(handshake);
  EXPECT_FALSE(handshake->result.contains("instructions"));
}

TEST_F(HandshakeTest, IsRefusedInABatch) {
  client_.send(
      R"([{"jsonrpc":"2.0","id":1,"method":"initialize",)"
      R"("params":{"protocolVersion":"2025-11-25"}},{"jsonrpc":"2.0","id":2,"method":"ping"}])");
  EXPECT_EQ(
      client_.take_one(),
      R"([{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request",)"
      R"("data":"'initialize' must not be in a batch"}},{"jsonrpc":"2.0","id":2,"result":{}}])");
  EXPECT_EQ(client_.client().revision(), kAssumedRevision);
}

}  // namespace
}  // namespace clmcp::mcp
