// Template, of a process that is a puppet.

#include "worker/template.h"

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/result.h"
#include "support/fake_worker.h"
#include "worker/worker.h"

namespace clmcp::worker {
namespace {

class TemplateTest : public ::testing::Test {
 protected:
  /// Asks for a copy; what becomes of it is written down.
  void ask() {
    template_.copy(wanted_, [this](const Result<std::unique_ptr<Frozen>>& copy) {
      answers_.push_back(copy ? "a copy" : copy.error().message);
    });
  }

  /// Does all that is to be done now.
  void turn() {
    loop_.post([this] { loop_.post([this] { loop_.post([this] { loop_.stop(); }); }); });
    loop_.restart();
    loop_.run();
  }

  Loop loop_;
  testing::FakeWorkers processes_;
  Template template_{loop_, [this](WorkerEvents& events) { return processes_.start(events); }};
  std::shared_ptr<bool> wanted_ = std::make_shared<bool>(true);
  std::vector<std::string> answers_;
};

using Answers = std::vector<std::string>;

TEST_F(TemplateTest, StartsOneProcessForAllWhoWait) {
  ask();
  EXPECT_EQ(processes_.started, 0) << "nothing happens from inside the call";
  ask();
  turn();
  EXPECT_EQ(processes_.started, 1);
  EXPECT_EQ(answers_, Answers{});
  processes_.current->on_ready();
  turn();
  EXPECT_EQ(answers_, (Answers{"a copy", "a copy"}));
  ask();
  turn();
  EXPECT_EQ(processes_.started, 1);
  EXPECT_EQ(answers_.size(), 3U);
}

TEST_F(TemplateTest, TellsAllWhoWaitWhyItCannotStart) {
  ask();
  ask();
  turn();
  processes_.current->on_end("The worker is broken.");
  turn();
  EXPECT_EQ(answers_, (Answers{"The worker is broken.", "The worker is broken."}));
  ask();
  turn();
  EXPECT_EQ(processes_.started, 2) << "the next who asks has it tried again";
}

TEST_F(TemplateTest, IsReplacedWhenItDiesIdle) {
  ask();
  turn();
  processes_.current->on_ready();
  turn();
  processes_.current->on_end("Killed.");
  turn();
  EXPECT_EQ(processes_.started, 1) << "nobody waits";
  ask();
  turn();
  processes_.current->on_ready();
  turn();
  EXPECT_EQ(processes_.started, 2);
  EXPECT_EQ(answers_, (Answers{"a copy", "a copy"}));
}

TEST_F(TemplateTest, IsReplacedOnceWhenItDiesOfACopy) {
  processes_.never_freeze = true;
  ask();
  turn();
  processes_.current->on_ready();
  processes_.current->on_end("Killed.");
  turn();
  EXPECT_EQ(answers_, Answers{});
  processes_.current->on_ready();
  processes_.current->on_end("Killed again.");
  turn();
  EXPECT_EQ(answers_, Answers{"Killed again."});
  EXPECT_EQ(processes_.started, 2);
}

TEST_F(TemplateTest, SaysWhyThereIsNoCopyAndGoesOn) {
  processes_.why_not_freeze = "fork failed.";
  ask();
  turn();
  processes_.current->on_ready();
  turn();
  EXPECT_EQ(answers_, Answers{"The Lisp process cannot be started: fork failed."});
  processes_.why_not_freeze.clear();
  ask();
  turn();
  EXPECT_EQ(answers_.back(), "a copy");
}

TEST_F(TemplateTest, MakesNoCopyThatNobodyWantsAnyMore) {
  ask();
  wanted_.reset();
  turn();
  EXPECT_EQ(processes_.started, 0);
  EXPECT_EQ(answers_, Answers{});
}

}  // namespace
}  // namespace clmcp::worker
