#include "rpc/peer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "rpc/exchange.h"
#include "rpc/message.h"
#include "rpc/reply.h"

namespace clmcp::rpc {
namespace {

using Texts = std::vector<std::string>;

/// Answers "now" at once and keeps every other request.
class PeerTest : public testing::Test, private Handler {
 protected:
  void send(std::string_view text) {
    peer_.receive(text, [this](std::string message, Part part) {
      sent_.push_back(std::move(message));
      parts_.push_back(part);
    });
  }

  Texts take() { return std::exchange(sent_, {}); }

  Peer peer_{*this};
  std::vector<Reply> open_;
  std::vector<std::string> notified_;
  std::vector<bool> batched_;
  std::vector<Part> parts_;

 private:
  void on_request(const Request& request, Reply reply) override {
    batched_.push_back(request.batched);
    if (request.method == "now") {
      std::move(reply).result({});
    } else {
      open_.push_back(std::move(reply));
    }
  }

  void on_notification(const Notification& notification) override {
    notified_.push_back(notification.method);
  }

  std::vector<std::string> sent_;
};

TEST_F(PeerTest, AnswersNowAndLater) {
  send(R"({"jsonrpc":"2.0","id":1,"method":"later"})");
  send(R"({"jsonrpc":"2.0","id":2,"method":"now"})");
  EXPECT_EQ(take(), Texts{R"({"jsonrpc":"2.0","id":2,"result":{}})"});
  EXPECT_EQ(peer_.in_flight(), 1);
  std::move(open_[0]).result({});
  EXPECT_EQ(take(), Texts{R"({"jsonrpc":"2.0","id":1,"result":{}})"});
  EXPECT_EQ(peer_.in_flight(), 0);
}

TEST_F(PeerTest, TellsOfARequestBeforeItsAnswer) {
  send(R"({"jsonrpc":"2.0","id":1,"method":"later"})");
  open_[0].notify("half", {{"done", 0.5}});
  open_[0].notify("most", {});
  std::move(open_[0]).result({});
  EXPECT_EQ(take(), (Texts{R"({"jsonrpc":"2.0","method":"half","params":{"done":5E-1}})",
                           R"({"jsonrpc":"2.0","method":"most","params":{}})",
                           R"({"jsonrpc":"2.0","id":1,"result":{}})"}));
  EXPECT_EQ(parts_, (std::vector{Part::kNotification, Part::kNotification, Part::kAnswer}));
}

TEST_F(PeerTest, TellsOfARequestInABatchAtOnce) {
  send(R"([{"jsonrpc":"2.0","id":1,"method":"later"},{"jsonrpc":"2.0","id":2,"method":"now"}])");
  open_[0].notify("half", {});
  EXPECT_EQ(take(), Texts{R"({"jsonrpc":"2.0","method":"half","params":{}})"});
  std::move(open_[0]).result({});
  EXPECT_EQ(
      take(),
      Texts{R"([{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}])"});
  EXPECT_EQ(parts_, (std::vector{Part::kNotification, Part::kAnswer}));
}

TEST_F(PeerTest, SaysNothingToNotificationsAndResponses) {
  send(R"({"jsonrpc":"2.0","method":"n"})");
  send(R"({"jsonrpc":"2.0","id":1,"result":{}})");
  EXPECT_EQ(take(), Texts{});
  EXPECT_EQ(notified_, Texts{"n"});
}

TEST_F(PeerTest, SaysWhyItCannotParse) {
  send("{");
  EXPECT_EQ(take(), Texts{R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,)"
                          R"("message":"Parse error","data":"incomplete JSON at byte 1"}})"});
  peer_.speak({.no_id = NoId::kLeftOut, .batch_refusal = ""});
  send("{");
  EXPECT_EQ(take(), Texts{R"({"jsonrpc":"2.0","error":{"code":-32700,)"
                          R"("message":"Parse error","data":"incomplete JSON at byte 1"}})"});
}

TEST_F(PeerTest, GathersTheRepliesToABatch) {
  send(R"([{"jsonrpc":"2.0","id":1,"method":"later"},{"jsonrpc":"2.0","id":2,"method":"now"},)"
       R"({"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":3,"method":"later"},7])");
  EXPECT_EQ(take(), Texts{});
  EXPECT_EQ(notified_, Texts{"n"});
  EXPECT_EQ(batched_, (std::vector{true, true, true}));
  std::move(open_[1]).result({});
  EXPECT_EQ(take(), Texts{});
  std::move(open_[0]).result({});
  EXPECT_EQ(
      take(),
      Texts{R"([{"jsonrpc":"2.0","id":2,"result":{}},)"
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request",)"
            R"("data":"A message must be an object"}},)"
            R"({"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}])"});
}

TEST_F(PeerTest, AnswersABatchAtOnceWhenItCan) {
  send(R"([{"jsonrpc":"2.0","id":1,"method":"now"}])");
  EXPECT_EQ(take(), Texts{R"([{"jsonrpc":"2.0","id":1,"result":{}}])"});
}

TEST_F(PeerTest, LeavesCancelledRequestsOutOfABatch) {
  send(R"([{"jsonrpc":"2.0","id":1,"method":"later"},{"jsonrpc":"2.0","id":2,"method":"now"}])");
  peer_.cancel(std::int64_t{1});
  EXPECT_EQ(take(), Texts{R"([{"jsonrpc":"2.0","id":2,"result":{}}])"});
  send(R"([{"jsonrpc":"2.0","id":3,"method":"later"}])");
  peer_.cancel(std::int64_t{3});
  open_.clear();
  EXPECT_EQ(take(), Texts{});
}

TEST_F(PeerTest, SaysNothingToABatchOfNotifications) {
  send(R"([{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}])");
  EXPECT_EQ(take(), Texts{});
  EXPECT_EQ(notified_, (Texts{"a", "b"}));
}

TEST_F(PeerTest, RefusesBatchesThatAreEmptyOrUnwanted) {
  send("[]");
  EXPECT_EQ(take(), Texts{R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,)"
                          R"("message":"Invalid Request","data":"A batch must not be empty"}})"});
  peer_.speak({.no_id = NoId::kNull, .batch_refusal = "No batches"});
  send(R"([{"jsonrpc":"2.0","id":1,"method":"now"}])");
  EXPECT_EQ(take(), Texts{R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,)"
                          R"("message":"Invalid Request","data":"No batches"}})"});
  EXPECT_TRUE(batched_.empty());
}

TEST_F(PeerTest, StopsAtTheLimitOfABatch) {
  std::string batch = "[1";
  for (std::size_t count = 1; count < limits::kBatchMessages; ++count) {
    batch += ",1";
  }
  send(batch + "]");
  EXPECT_TRUE(take().at(0).starts_with(R"([{"jsonrpc":"2.0","id":null,)"));
  send(batch + ",1]");
  EXPECT_EQ(take(),
            Texts{R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":)"
                  R"("Invalid Request","data":"A batch may hold at most 1000 messages"}})"});
}

}  // namespace
}  // namespace clmcp::rpc
