#include "session/sessions.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/log.h"
#include "session/operation.h"
#include "session/session.h"
#include "support/fake_clock.h"
#include "support/fake_worker.h"

namespace clmcp::session {
namespace {

using ::testing::HasSubstr;

class SessionsTest : public ::testing::Test {
 protected:
  void define(Session& session) {
    Operation operation("evaluate", {.text = "(defun f ())", .changes_state = true});
    session.call(session.new_call(), std::move(operation), {}, [](const Outcome&) {});
    workers_.answer_value("F");
  }

  clmcp::testing::FakeClock clock_;
  clmcp::testing::FakeWorkers workers_;
  Log log_{LogLevel::kOff, 2};
  Sessions sessions_{workers_, clock_, log_, {.checkpoint_memory = 5000, .sessions = 4}};
};

TEST_F(SessionsTest, KnowsTheDefaultOneWithAndWithoutItsName) {
  EXPECT_EQ(*sessions_.find(std::nullopt), *sessions_.find("default"));
}

TEST_F(SessionsTest, NamesTheOneThatDoesNotExist) {
  EXPECT_THAT(sessions_.find("other").error().message, HasSubstr("no session named 'other'"));
}

TEST_F(SessionsTest, OpensOneWithAWorkerOfItsOwn) {
  ASSERT_TRUE(sessions_.open("b"));
  EXPECT_EQ(workers_.started, 1);
  EXPECT_EQ((*sessions_.find("b"))->name(), "b");
}

TEST_F(SessionsTest, MakesUpANameWhereThereIsNone) {
  ASSERT_TRUE(sessions_.open("session-2"));
  EXPECT_EQ((*sessions_.open(std::nullopt))->name(), "session-3");
}

TEST_F(SessionsTest, RefusesNamesThatAreTakenOrNotPlain) {
  ASSERT_TRUE(sessions_.open("b"));
  EXPECT_THAT(sessions_.open("b").error().message, HasSubstr("already"));
  for (const std::string& name : {std::string(), std::string("a/b"), std::string(".."),
                                  std::string("a b"), std::string(limits::kNameBytes + 1, 'x')}) {
    EXPECT_THAT(sessions_.open(name).error().message, HasSubstr("letters, digits")) << name;
  }
}

TEST_F(SessionsTest, RefusesMoreThanThereMayBe) {
  for (const char* name : {"b", "c", "d"}) {
    ASSERT_TRUE(sessions_.open(name));
  }
  EXPECT_THAT(sessions_.open("e").error().message, HasSubstr("4 sessions are open"));
  ASSERT_TRUE(sessions_.close("b"));
  EXPECT_TRUE(sessions_.open("e"));
}

TEST_F(SessionsTest, ClosesOneButNotTheDefault) {
  ASSERT_TRUE(sessions_.open("b"));
  ASSERT_TRUE(sessions_.close("b"));
  EXPECT_FALSE(sessions_.find("b"));
  EXPECT_THAT(sessions_.close("b").error().message, HasSubstr("no session named"));
  EXPECT_THAT(sessions_.close("default").error().message, HasSubstr("always there"));
}

TEST_F(SessionsTest, DropsTheOldestCheckpointsAboveTheLimitOnTheirMemory) {
  const std::shared_ptr<Session> session = *sessions_.find(std::nullopt);
  session->warm_up();
  workers_.current->on_ready();
  workers_.memory = 1000;
  for (int i = 0; i < 8; ++i) {
    define(*session);
  }
  EXPECT_EQ(session->timeline().memory(), 8000U);
  clock_.advance(limits::kTrimming);
  EXPECT_EQ(session->timeline().memory(), 5000U);
  EXPECT_TRUE(session->timeline().is_safe());
  EXPECT_THAT(session->timeline().before(6).error().message, HasSubstr("--checkpoint-memory"));
}

}  // namespace
}  // namespace clmcp::session
