#include "rpc/reply.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "json/value.h"
#include "rpc/error.h"
#include "rpc/exchange.h"
#include "rpc/in_flight.h"
#include "rpc/message.h"

namespace clmcp::rpc {
namespace {

constexpr auto kInternal =
    R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}})";

class ReplyTest : public testing::Test {
 protected:
  Reply open(std::int64_t id = 1) {
    auto sink = [this](std::string text, Part /*part*/) { sent_.push_back(std::move(text)); };
    return requests_->open(id,
                           std::make_shared<Exchange>(std::move(sink), Exchange::Shape::kSingle));
  }

  std::vector<std::string> take() { return std::exchange(sent_, {}); }

  std::vector<std::string> sent_;
  std::shared_ptr<InFlight> requests_ = std::make_shared<InFlight>();
};

using Texts = std::vector<std::string>;

TEST_F(ReplyTest, AnswersWithAResult) {
  Reply reply = open();
  EXPECT_EQ(requests_->size(), 1);
  std::move(reply).result({{"a", 1}});
  EXPECT_EQ(sent_, Texts{R"({"jsonrpc":"2.0","id":1,"result":{"a":1}})"});
  EXPECT_EQ(requests_->size(), 0);
}

TEST_F(ReplyTest, AnswersWithAnError) {
  open().error({.code = Code::kInvalidParams, .message = "no"});
  EXPECT_EQ(sent_, Texts{R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}})"});
}

TEST_F(ReplyTest, AnswersByItselfWhenDropped) {
  {
    const Reply reply = open();
  }
  EXPECT_EQ(sent_, Texts{kInternal});
}

TEST_F(ReplyTest, AnswersOnceHoweverOftenItIsMoved) {
  {
    Reply first = open();
    Reply second = std::move(first);
    Reply third = std::move(second);
    std::move(third).result({});
    std::move(third).result({});  // NOLINT(bugprone-use-after-move): that is the point
  }
  EXPECT_EQ(sent_.size(), 1);
}

TEST_F(ReplyTest, AnswersWhatItHeldWhenAssignedTo) {
  Reply reply = open(1);
  reply = open(2);
  EXPECT_EQ(sent_, Texts{kInternal});
  std::move(reply).result({});
  EXPECT_EQ(sent_.back(), R"({"jsonrpc":"2.0","id":2,"result":{}})");
}

TEST_F(ReplyTest, SaysNothingAfterACancellation) {
  Reply reply = open();
  requests_->cancel(std::int64_t{1});
  EXPECT_EQ(requests_->size(), 0);
  std::move(reply).result({});
  {
    const Reply dropped = open(2);
    requests_->cancel(std::int64_t{2});
  }
  EXPECT_EQ(sent_, Texts{});
}

TEST_F(ReplyTest, TellsOfACancellationOnce) {
  int told = 0;
  Reply reply = open();
  reply.on_cancel([&told] { ++told; });
  requests_->cancel(std::int64_t{2});
  requests_->cancel("1");
  EXPECT_EQ(told, 0);
  requests_->cancel(std::int64_t{1});
  requests_->cancel(std::int64_t{1});
  EXPECT_EQ(told, 1);
}

TEST_F(ReplyTest, TellsAtOnceOfACancellationThatWasBefore) {
  int told = 0;
  Reply reply = open();
  requests_->cancel(std::int64_t{1});
  reply.on_cancel([&told] { ++told; });
  EXPECT_EQ(told, 1);
}

TEST_F(ReplyTest, TellsNothingOfACancellationAfterTheAnswer) {
  int told = 0;
  Reply reply = open();
  reply.on_cancel([&told] { ++told; });
  std::move(reply).result({});
  requests_->cancel(std::int64_t{1});
  EXPECT_EQ(told, 0);
}

TEST_F(ReplyTest, MayBeAnsweredWhileItIsCancelled) {
  std::optional<Reply> reply = open();
  reply->on_cancel([&reply] { reply.reset(); });
  requests_->cancel(std::int64_t{1});
  EXPECT_EQ(reply, std::nullopt);
  EXPECT_EQ(sent_, Texts{});
}

TEST_F(ReplyTest, NotifiesUntilItIsAnswered) {
  Reply reply = open();
  reply.notify("n", {{"a", 1}});
  EXPECT_EQ(take(), Texts{R"({"jsonrpc":"2.0","method":"n","params":{"a":1}})"});
  std::move(reply).result({});
  EXPECT_EQ(take().size(), 1);
  reply.notify("n", {});  // NOLINT(bugprone-use-after-move): whoever shares it may be late
  EXPECT_EQ(take(), Texts{});
}

TEST_F(ReplyTest, NotifiesNobodyAfterACancellation) {
  const Reply reply = open();
  requests_->cancel(std::int64_t{1});
  reply.notify("n", {});
  EXPECT_EQ(take(), Texts{});
}

TEST_F(ReplyTest, MayBeCancelledWhileItNotifies) {
  auto sink = [this](std::string text, Part /*part*/) {
    sent_.push_back(std::move(text));
    requests_->cancel(std::int64_t{1});
  };
  const Reply reply = requests_->open(
      std::int64_t{1}, std::make_shared<Exchange>(std::move(sink), Exchange::Shape::kSingle));
  reply.notify("n", {});
  reply.notify("n", {});
  EXPECT_EQ(take().size(), 1);
}

TEST_F(ReplyTest, MayOutliveTheClient) {
  Reply reply = open();
  requests_.reset();
  reply.notify("n", {});
  std::move(reply).result({});
  EXPECT_EQ(sent_, Texts{});
}

TEST_F(ReplyTest, AnswersBothOfTwoRequestsWithOneId) {
  Reply first = open();
  Reply second = open();
  std::move(second).result({{"n", 2}});
  std::move(first).result({{"n", 1}});
  EXPECT_EQ(sent_, (Texts{R"({"jsonrpc":"2.0","id":1,"result":{"n":2}})",
                          R"({"jsonrpc":"2.0","id":1,"result":{"n":1}})"}));
}

}  // namespace
}  // namespace clmcp::rpc
