#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "json/value.h"
#include "mcp/tool.h"
#include "support/echo_server.h"
#include "support/memory_client.h"

namespace clmcp::mcp {
namespace {

using Texts = std::vector<std::string>;

class ProgressTest : public testing::Test {
 protected:
  static std::string request(std::string_view meta) {
    return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","_meta":)" +
           std::string(meta) + "}}";
  }

  /// A call of `wait` whose request has this `_meta`.
  ToolCall& start(std::string_view meta = R"({"progressToken":"t"})") {
    client_->send(request(meta));
    return echo_.waiting.back();
  }

  static std::string notification(std::string_view token, std::string_view rest) {
    return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
           std::string(token) + "," + std::string(rest) + "}}";
  }

  std::string take() { return client_->take_one(); }

  test::EchoServer echo_;
  std::optional<test::MemoryClient> client_{std::in_place, echo_.server};
};

TEST_F(ProgressTest, CarriesTheTokenOfTheRequest) {
  for (const std::string token :
       {R"("t")", R"("")", "7", "0", "-3", "9223372036854775807", "18446744073709551615"}) {
    ToolCall& call = start(R"({"progressToken":)" + token + "}");
    EXPECT_TRUE(call.wants_progress());
    call.progress(1, "half");
    EXPECT_EQ(take(), notification(token, R"("progress":1,"message":"half")"));
  }
}

TEST_F(ProgressTest, TakesAnIntegerWithAPointAsAToken) {
  start(R"({"progressToken":5.0})").progress(1, "");
  EXPECT_EQ(client_->take_json().at_pointer("/params/progressToken"), json::Value(5.0));
}

TEST_F(ProgressTest, IsNotSentWhereNobodyAsked) {
  for (const auto* meta :
       {"{}", "null", "[]", "1", R"({"progressToken":null})", R"({"progressToken":true})",
        R"({"progressToken":{}})", R"({"progressToken":["t"]})", R"({"progressToken":1e999})",
        R"({"progressToken":123456789012345678901234567890})"}) {
    ToolCall& call = start(meta);
    EXPECT_FALSE(call.wants_progress()) << meta;
    call.progress(1, "half");
    EXPECT_EQ(take(), "") << meta;
    std::move(call).answer({.text = "done"});
    EXPECT_NE(take().find(R"("text":"done")"), std::string::npos) << meta;
  }
}

TEST_F(ProgressTest, HasAMessageFrom20250326On) {
  client_->initialize("2024-11-05");
  start().progress(1, "half");
  EXPECT_EQ(take(), notification(R"("t")", R"("progress":1)"));
  for (const auto* revision : {"2025-03-26", "2025-06-18", "2025-11-25"}) {
    client_->initialize(revision);
    start().progress(1, "half");
    EXPECT_EQ(take(), notification(R"("t")", R"("progress":1,"message":"half")"));
  }
}

TEST_F(ProgressTest, LeavesAnEmptyMessageOut) {
  start().progress(1, "");
  EXPECT_EQ(take(), notification(R"("t")", R"("progress":1)"));
}

TEST_F(ProgressTest, RepairsItsMessage) {
  start().progress(1, "a\xFF");
  EXPECT_EQ(take(), notification(R"("t")", "\"progress\":1,\"message\":\"a\xEF\xBF\xBD\""));
}

TEST_F(ProgressTest, MustIncrease) {
  ToolCall& call = start();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double progress :
       {kNan, -kInfinity, -1.0, 0.0, 0.0, -0.5, 0.25, kNan, kInfinity, 3.0, 2.0, 3.0, 1e300}) {
    call.progress(progress, "");
  }
  EXPECT_EQ(client_->take(), (Texts{notification(R"("t")", R"("progress":-1)"),
                                    notification(R"("t")", R"("progress":0)"),
                                    notification(R"("t")", R"("progress":2.5E-1)"),
                                    notification(R"("t")", R"("progress":3)"),
                                    notification(R"("t")", R"("progress":1E300)")}));
}

TEST_F(ProgressTest, EndsWithTheAnswer) {
  // Shared by who watches the call and who answers it.
  const auto call = std::make_shared<ToolCall>(std::move(start()));
  call->progress(1, "half");
  EXPECT_EQ(take(), notification(R"("t")", R"("progress":1,"message":"half")"));
  std::move(*call).answer({.text = "done"});
  EXPECT_NE(take().find(R"("text":"done")"), std::string::npos);
  call->progress(2, "late");
  EXPECT_EQ(take(), "");
}

TEST_F(ProgressTest, EndsWithACancellation) {
  ToolCall& call = start();
  client_->notify("notifications/cancelled", {{"requestId", 1}});
  call.progress(1, "late");
  EXPECT_EQ(take(), "");
}

TEST_F(ProgressTest, EndsWithTheClient) {
  ToolCall& call = start();
  client_.reset();
  call.progress(1, "nobody there");
}

TEST_F(ProgressTest, GoesAlongWhenTheCallIsMoved) {
  ToolCall& call = start();
  call.progress(1, "");
  ToolCall moved = std::move(call);
  EXPECT_NE(take(), "");
  moved.progress(1, "again");
  EXPECT_EQ(take(), "");
  moved.progress(2, "");
  EXPECT_EQ(take(), notification(R"("t")", R"("progress":2)"));
}

TEST_F(ProgressTest, DoesNotWaitForTheAnswersOfABatch) {
  client_->send("[" + request(R"({"progressToken":1})") + "," + request(R"({"progressToken":2})") +
                "]");
  echo_.waiting.at(1).progress(1, "");
  EXPECT_EQ(take(), notification("2", R"("progress":1)"));
  echo_.waiting.at(0).progress(1, "");
  EXPECT_EQ(take(), notification("1", R"("progress":1)"));
  std::move(echo_.waiting.at(0)).answer({.text = "done"});
  EXPECT_EQ(take(), "");
  echo_.waiting.at(1).progress(2, "");
  EXPECT_EQ(take(), notification("2", R"("progress":2)"));
  std::move(echo_.waiting.at(1)).answer({.text = "done"});
  EXPECT_EQ(client_->take_json().as_array().size(), 2);
}

}  // namespace
}  // namespace clmcp::mcp
