#include "session/session.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/log.h"
#include "session/operation.h"
#include "support/fake_clock.h"
#include "support/fake_worker.h"
#include "worker/worker.h"

namespace clmcp::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SessionTest : public ::testing::Test {
 protected:
  CallId evaluate(const std::string& code) {
    Operation operation("evaluate");
    operation.add("code", code);
    const CallId id = session_.new_call();
    session_.call(id, std::move(operation),
                  [this](Outcome outcome) { outcomes_.push_back(outcome); });
    return id;
  }

  CallId reset() {
    const CallId id = session_.new_call();
    session_.reset(id, [this](Outcome outcome) { outcomes_.push_back(outcome); });
    return id;
  }

  void start_and_answer() {
    evaluate("1");
    workers_.current->on_ready();
    workers_.answer_value("1");
    outcomes_.clear();
    workers_.requests.clear();
  }

  std::string condition_type(std::size_t index) {
    const auto& condition = outcomes_.at(index).answer.condition;
    return condition ? condition->type : "";
  }

  std::string written(std::size_t index) {
    return outcomes_.at(index).written->output.excerpt(0, 100).head;
  }

  std::string message(std::size_t index) { return outcomes_.at(index).answer.condition->message; }

  clmcp::testing::FakeClock clock_;
  clmcp::testing::FakeWorkers workers_;
  Log log_{LogLevel::kOff, 2};
  Session session_{"default", workers_, clock_, log_};
  std::vector<Outcome> outcomes_;
};

TEST_F(SessionTest, StartsNoWorkerBeforeTheFirstCall) {
  EXPECT_EQ(workers_.started, 0);
  EXPECT_EQ(session_.state(), SessionState::kCold);
}

TEST_F(SessionTest, SendsTheFirstCallWhenTheWorkerIsReady) {
  evaluate("(+ 1 2)");
  EXPECT_EQ(workers_.started, 1);
  EXPECT_THAT(workers_.requests, IsEmpty());
  workers_.current->on_ready();
  EXPECT_THAT(workers_.requests, ElementsAre(R"x((:evaluate :code "(+ 1 2)"))x"));
}

TEST_F(SessionTest, CarriesOutCallsOneAtATimeAndInOrder) {
  evaluate("1");
  evaluate("2");
  workers_.current->on_ready();
  EXPECT_EQ(workers_.requests.size(), 1U);
  workers_.answer_value("1");
  EXPECT_EQ(workers_.requests.size(), 2U);
  workers_.answer_value("2");
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_EQ(outcomes_[0].answer.values->front(), "1");
  EXPECT_EQ(outcomes_[1].answer.values->front(), "2");
}

TEST_F(SessionTest, GivesEachCallTheOutputWrittenBeforeItsAnswer) {
  evaluate("1");
  workers_.current->on_ready();
  workers_.current->on_output(worker::Stream::kOutput, "out");
  workers_.current->on_output(worker::Stream::kError, "err");
  workers_.answer_value("1");
  EXPECT_EQ(written(0), "out");
  EXPECT_EQ(outcomes_[0].written->error_output.excerpt(0, 100).head, "err");
  evaluate("2");
  workers_.answer_value("2");
  EXPECT_EQ(written(1), "");
}

TEST_F(SessionTest, FailsTheCallWhenTheWorkerDoesNotStart) {
  evaluate("1");
  workers_.current->on_end("There is no SBCL.");
  EXPECT_EQ(condition_type(0), "LISP-UNAVAILABLE");
  EXPECT_EQ(message(0), "There is no SBCL.");
}

TEST_F(SessionTest, TakesACheckpointAfterEachAnswer) {
  evaluate("1");
  workers_.current->on_ready();
  EXPECT_EQ(workers_.frozen, 0);
  workers_.answer_value("1");
  EXPECT_EQ(workers_.frozen, 1);
  EXPECT_EQ(session_.state(), SessionState::kIdle);
}

TEST_F(SessionTest, GoesBackToTheCheckpointWhenTheWorkerDiesInACall) {
  start_and_answer();
  evaluate("(exit)");
  workers_.current->on_output(worker::Stream::kOutput, "last words");
  workers_.current->on_end("The Lisp process exited with code 3.");
  EXPECT_EQ(workers_.resumed, 1);
  EXPECT_THAT(outcomes_, IsEmpty());
  workers_.current->on_ready();
  EXPECT_EQ(condition_type(0), "LISP-PROCESS-ENDED");
  EXPECT_THAT(message(0), HasSubstr("exited with code 3"));
  EXPECT_THAT(message(0), HasSubstr("back to its state before this call"));
  EXPECT_EQ(written(0), "last words");
  EXPECT_EQ(workers_.frozen, 2);
}

TEST_F(SessionTest, GoesBackToThePackageAndTheSystemsOfTheCheckpoint) {
  evaluate("1");
  workers_.current->on_ready();
  workers_.answer({.package = "A", .systems = {{{.name = "a", .definition = std::nullopt}}}});
  workers_.why_not_freeze = "Threads are running.";
  evaluate("2");
  workers_.answer({.package = "B",
                   .systems = {{{.name = "a", .definition = std::nullopt},
                                {.name = "b", .definition = std::nullopt}}}});
  evaluate("(exit)");
  workers_.current->on_end("It exited.");
  EXPECT_EQ(session_.package(), "A");
  workers_.current->on_ready();
  reset();
  workers_.current->on_ready();
  EXPECT_EQ(workers_.requests.back(), R"((:restore-systems :systems (("a" nil))))");
}

TEST_F(SessionTest, SaysWhichCallsAreLostWhenThereCouldBeNoNewerCheckpoint) {
  start_and_answer();
  workers_.why_not_freeze = "Threads are running.";
  evaluate("1");
  workers_.answer_value("1");
  evaluate("2");
  workers_.answer_value("2");
  evaluate("(exit)");
  workers_.current->on_end("It exited.");
  workers_.current->on_ready();
  EXPECT_THAT(message(2), HasSubstr("without the 2 calls before this one"));
  EXPECT_THAT(message(2), HasSubstr("Threads are running."));
}

TEST_F(SessionTest, SaysWhatIsLostWhenThereIsNoCheckpoint) {
  workers_.why_not_freeze = "Threads are running.";
  start_and_answer();
  evaluate("(exit)");
  workers_.current->on_end("It exited.");
  EXPECT_THAT(message(0), HasSubstr("is lost"));
  evaluate("2");
  EXPECT_EQ(workers_.started, 2);
}

TEST_F(SessionTest, SaysWhatIsLostWhenTheCheckpointCannotBeResumed) {
  start_and_answer();
  evaluate("(exit)");
  evaluate("2");
  workers_.current->on_end("It exited.");
  workers_.current->on_end("The checkpoint is gone.");
  EXPECT_THAT(message(0), HasSubstr("It exited."));
  EXPECT_THAT(message(0), HasSubstr("is lost"));
  EXPECT_EQ(workers_.started, 2);
  workers_.current->on_ready();
  workers_.answer_value("2");
  EXPECT_EQ(outcomes_[1].answer.values->front(), "2");
}

TEST_F(SessionTest, TellsTheNextCallOfADeathBetweenCalls) {
  start_and_answer();
  workers_.current->on_end("The Lisp process was killed.");
  evaluate("2");
  workers_.current->on_ready();
  workers_.answer_value("2");
  EXPECT_THAT(*outcomes_[0].notice, HasSubstr("between two calls"));
  EXPECT_THAT(*outcomes_[0].notice, HasSubstr("back to its state after the last call"));
}

TEST_F(SessionTest, DoesNotTakeBackACallWhoseDeathIsBeingMended) {
  start_and_answer();
  const CallId id = evaluate("(exit)");
  workers_.current->on_end("It exited.");
  session_.cancel(id);
  EXPECT_THAT(outcomes_, IsEmpty());
  workers_.current->on_ready();
  EXPECT_EQ(outcomes_.size(), 1U);
}

TEST_F(SessionTest, InterruptsACancelledCallAndStillFinishesIt) {
  start_and_answer();
  const CallId id = evaluate("(loop)");
  session_.cancel(id);
  EXPECT_EQ(workers_.interrupts, 1);
  workers_.answer({.condition = worker::Condition{"INTERRUPTED", "Evaluation interrupted.", {}}});
  EXPECT_EQ(condition_type(0), "INTERRUPTED");
  clock_.advance(limits::kInterruptGrace);
  EXPECT_EQ(workers_.kills, 0);
}

TEST_F(SessionTest, EndsTheWorkerWhenAnInterruptDoesNotHelpInTime) {
  start_and_answer();
  session_.cancel(evaluate("(loop)"));
  clock_.advance(limits::kInterruptGrace - Duration(1));
  EXPECT_EQ(workers_.kills, 0);
  clock_.advance(Duration(1));
  EXPECT_EQ(workers_.kills, 1);
  workers_.current->on_end("It was killed.");
  workers_.current->on_ready();
  EXPECT_THAT(message(0), HasSubstr("did not stop when it was interrupted"));
  EXPECT_THAT(message(0), HasSubstr("back to its state before that evaluation"));
  // Nobody sees the answer of a cancelled call.
  evaluate("1");
  workers_.answer_value("1");
  EXPECT_THAT(*outcomes_[1].notice, HasSubstr("did not stop when it was interrupted"));
}

TEST_F(SessionTest, EndsTheWorkerAtOnceWhenCancelledTwice) {
  start_and_answer();
  const CallId id = evaluate("(loop)");
  session_.cancel(id);
  session_.cancel(id);
  EXPECT_EQ(workers_.kills, 1);
}

TEST_F(SessionTest, TakesACancelledCallOutOfTheQueue) {
  start_and_answer();
  evaluate("1");
  session_.cancel(evaluate("2"));
  EXPECT_EQ(condition_type(0), "INTERRUPTED");
  workers_.answer_value("1");
  EXPECT_EQ(workers_.requests.size(), 1U);
}

TEST_F(SessionTest, IgnoresTheCancellingOfWhatIsDone) {
  start_and_answer();
  const CallId id = evaluate("1");
  workers_.answer_value("1");
  session_.cancel(id);
  EXPECT_EQ(workers_.interrupts, 0);
}

TEST_F(SessionTest, ResetsAColdSessionWithoutStartingAnything) {
  reset();
  EXPECT_EQ(workers_.started, 0);
  EXPECT_EQ(outcomes_.size(), 1U);
}

TEST_F(SessionTest, ResetsByStartingAfresh) {
  start_and_answer();
  reset();
  EXPECT_EQ(workers_.current, nullptr);
  EXPECT_EQ(outcomes_.size(), 1U);
  evaluate("1");
  EXPECT_EQ(workers_.started, 2);
}

TEST_F(SessionTest, LoadsTheSystemsAgainBeforeAResetIsDone) {
  evaluate("(asdf:load-system :alexandria)");
  workers_.current->on_ready();
  workers_.answer({.values = {{"T"}},
                   .package = "COMMON-LISP-USER",
                   .systems = {{{.name = "alexandria", .definition = "/a/alexandria.asd"},
                                {.name = "sb-posix", .definition = std::nullopt}}}});
  reset();
  EXPECT_EQ(outcomes_.size(), 1U);
  workers_.current->on_ready();
  EXPECT_EQ(workers_.requests.back(),
            R"((:restore-systems :systems (("alexandria" "/a/alexandria.asd") ("sb-posix" nil))))");
  workers_.current->on_output(worker::Stream::kOutput, "chatter");
  workers_.answer({.text = "", .package = "COMMON-LISP-USER"});
  ASSERT_EQ(outcomes_.size(), 2U);
  evaluate("1");
  workers_.answer_value("1");
  EXPECT_EQ(written(2), "");
}

TEST_F(SessionTest, TellsOfADeathAlsoWhenSystemsAreLoadedAgain) {
  workers_.why_not_freeze = "Threads are running.";
  evaluate("1");
  workers_.current->on_ready();
  workers_.answer({.systems = {{{.name = "alexandria", .definition = std::nullopt}}}});
  workers_.current->on_end("It was killed.");
  evaluate("2");
  workers_.current->on_ready();
  workers_.answer({.text = ""});
  workers_.answer_value("2");
  EXPECT_THAT(*outcomes_[1].notice, HasSubstr("It was killed."));
}

TEST_F(SessionTest, DoesNotTryAgainSystemsThatKillTheWorker) {
  start_and_answer();
  evaluate("1");
  workers_.answer({.systems = {{{.name = "deadly", .definition = std::nullopt}}}});
  reset();
  workers_.current->on_ready();
  workers_.current->on_end("It crashed.");
  EXPECT_EQ(condition_type(1), "LISP-PROCESS-ENDED");
  evaluate("1");
  workers_.current->on_ready();
  EXPECT_THAT(workers_.requests.back(), HasSubstr(":evaluate"));
}

TEST_F(SessionTest, CarriesOutThousandsOfResetsWithoutGrowingTheStack) {
  evaluate("1");
  for (int i = 0; i < 5000; ++i) {
    reset();
  }
  workers_.current->on_ready();
  workers_.answer_value("1");
  EXPECT_EQ(outcomes_.size(), 5001U);
}

TEST_F(SessionTest, RefusesCallsBeyondTheLimitOfItsQueue) {
  for (std::size_t i = 0; i < limits::kQueuedCalls; ++i) {
    evaluate("1");
  }
  EXPECT_THAT(outcomes_, IsEmpty());
  evaluate("1");
  EXPECT_EQ(condition_type(0), "SESSION-BUSY");
}

TEST_F(SessionTest, AnswersEveryCallWhenItIsClosed) {
  start_and_answer();
  evaluate("1");
  evaluate("2");
  session_.close("The server stops.");
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_EQ(message(1), "The server stops.");
  evaluate("3");
  EXPECT_EQ(condition_type(2), "SESSION-CLOSED");
}

}  // namespace
}  // namespace clmcp::session
