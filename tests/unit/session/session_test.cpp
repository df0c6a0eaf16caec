#include "session/session.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/result.h"
#include "session/operation.h"
#include "session/output.h"
#include "session/timeline.h"
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
  Session::Done record() {
    return [this](const Outcome& outcome) { outcomes_.push_back(outcome); };
  }

  CallId evaluate(const std::string& code, Session::Terms terms = {}) {
    Operation operation("evaluate", {.tool = "evaluate-lisp", .text = code, .changes_state = true});
    operation.add("code", code);
    const CallId id = session_.new_call();
    session_.call(id, std::move(operation), std::move(terms), record());
    return id;
  }

  CallId reset() {
    const CallId id = session_.new_call();
    session_.reset(id, {}, record());
    return id;
  }

  void undo(std::size_t calls) { session_.undo(session_.new_call(), calls, {}, record()); }

  void save(const std::string& name) { session_.save(session_.new_call(), name, {}, record()); }

  void restore(const std::string& name) {
    session_.restore(session_.new_call(), name, {}, record());
  }

  /// One call from its beginning to its answer, on a worker that is there.
  void define(const std::string& code) {
    evaluate(code);
    workers_.answer({.values = {{"DONE"}},
                     .package = "COMMON-LISP-USER",
                     .definitions = {{.text = code, .package = "COMMON-LISP-USER"}}});
  }

  std::string text(std::size_t index) { return outcomes_.at(index).answer.text.value_or(""); }

  static std::string written(const OutputLog& log) { return log.excerpt(0, 1000).head; }

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

  std::string message(std::size_t index) { return outcomes_.at(index).answer.condition->message; }

  clmcp::testing::FakeClock clock_;
  clmcp::testing::FakeWorkers workers_;
  Log log_{LogLevel::kOff, 2};
  Surroundings around_{.workers = workers_, .clock = clock_, .log = log_};
  Session session_{"default", around_};
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
  EXPECT_EQ(written(outcomes_[0].written->output), "out");
  EXPECT_EQ(written(outcomes_[0].written->error_output), "err");
  evaluate("2");
  workers_.answer_value("2");
  EXPECT_EQ(written(outcomes_[1].written->output), "");
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
  EXPECT_EQ(written(outcomes_[0].written->output), "last words");
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

TEST_F(SessionTest, MakesAgainWhatWasDefinedSinceTheLastCheckpoint) {
  start_and_answer();
  workers_.why_not_freeze = "Threads are running.";
  define("(defun f () 1)");
  evaluate("(setf *x* 2)");
  workers_.answer_value("2");
  define("(defun g () 3)");
  outcomes_.clear();
  workers_.requests.clear();
  evaluate("(exit)");
  workers_.current->on_end("It exited.");
  workers_.why_not_freeze = "";
  workers_.current->on_ready();
  workers_.answer_value("F");
  workers_.answer_value("G");
  EXPECT_THAT(workers_.requests,
              ElementsAre(R"x((:evaluate :code "(exit)"))x",
                          R"x((:evaluate :code "(defun f () 1)" :package "COMMON-LISP-USER"))x",
                          R"x((:evaluate :code "(defun g () 3)" :package "COMMON-LISP-USER"))x"));
  EXPECT_THAT(message(0), HasSubstr("Threads are running."));
  EXPECT_THAT(message(0), HasSubstr("Replayed, 2 definitions: (defun f () 1); (defun g () 3)."));
  EXPECT_THAT(message(0), HasSubstr("Not replayed, since only definitions are: (setf *x* 2)."));
  EXPECT_TRUE(session_.timeline().is_safe());
  EXPECT_EQ(session_.state(), SessionState::kIdle);
}

TEST_F(SessionTest, SaysWhatACallDidBesideTheDefinitionsThatAreMadeAgain) {
  start_and_answer();
  workers_.why_not_freeze = "Threads are running.";
  evaluate("(setf *x* 1)\n(defvar *n* 0) (setf *n* 5)");
  workers_.answer({.values = {{"5"}},
                   .package = "COMMON-LISP-USER",
                   .definitions = {{.text = "(defvar *n* 0)", .package = "COMMON-LISP-USER"}}});
  outcomes_.clear();
  evaluate("(exit)");
  workers_.current->on_end("It exited.");
  workers_.current->on_ready();
  workers_.answer_value("*N*");
  EXPECT_THAT(message(0), HasSubstr("Replayed, 1 definition: (defvar *n* 0). Not replayed, since "
                                    "only definitions are: (setf *x* 1) (setf *n* 5)."));
}

TEST_F(SessionTest, KeepsTheCheckpointItWentBackToAlsoWhereNothingIsReplayed) {
  start_and_answer();
  save("a");
  workers_.why_not_freeze = "Threads are running.";
  evaluate("(setf *x* 2)");
  workers_.answer_value("2");
  workers_.why_not_freeze = "";
  workers_.current->on_end("It exited.");
  workers_.current->on_ready();
  ASSERT_NE(session_.timeline().named("a"), nullptr);
  EXPECT_TRUE(session_.timeline().named("a")->usable());
  EXPECT_TRUE(session_.timeline().before(1));
}

TEST_F(SessionTest, GoesOnReplayingWithoutADefinitionThatFailsOrKills) {
  start_and_answer();
  workers_.why_not_freeze = "Threads are running.";
  for (const char* code : {"(defun good () 1)", "(defun bad () 2)", "(defun deadly () 3)"}) {
    define(code);
  }
  workers_.current->on_end("It exited.");
  workers_.why_not_freeze = "";
  workers_.current->on_ready();
  workers_.answer_value("GOOD");
  workers_.answer({.condition = worker::Condition{"SOME-ERROR", "no", {}}});
  workers_.current->on_end("It crashed.");
  workers_.current->on_ready();
  workers_.answer_value("GOOD");
  outcomes_.clear();
  evaluate("1");
  workers_.answer_value("1");
  EXPECT_THAT(*outcomes_[0].notice, HasSubstr("Replayed, 1 definition: (defun good () 1)."));
  EXPECT_THAT(*outcomes_[0].notice, HasSubstr("(defun bad () 2) (SOME-ERROR)"));
  EXPECT_THAT(*outcomes_[0].notice, HasSubstr("(defun deadly () 3) (It crashed.)"));
}

TEST_F(SessionTest, StopsAReplayedDefinitionThatTakesTooLong) {
  start_and_answer();
  workers_.why_not_freeze = "Threads are running.";
  define("(defvar *x* (loop))");
  workers_.current->on_end("It exited.");
  workers_.why_not_freeze = "";
  workers_.current->on_ready();
  clock_.advance(limits::kReplayStep);
  EXPECT_EQ(workers_.kills, 1);
  workers_.current->on_end("It was killed.");
  workers_.current->on_ready();
  EXPECT_EQ(session_.state(), SessionState::kIdle);
}

TEST_F(SessionTest, StartsAfreshAndReplaysWhenThereNeverWasACheckpoint) {
  workers_.why_not_freeze = "Threads are running.";
  start_and_answer();
  define("(defun f () 1)");
  outcomes_.clear();
  evaluate("(exit)");
  workers_.current->on_end("It exited.");
  EXPECT_EQ(workers_.started, 2);
  workers_.current->on_ready();
  workers_.answer_value("F");
  EXPECT_THAT(message(0), HasSubstr("(defun f () 1)"));
}

TEST_F(SessionTest, FallsBackFurtherWhenACheckpointCannotBeResumed) {
  start_and_answer();
  define("(defun f () 1)");
  outcomes_.clear();
  evaluate("(exit)");
  workers_.current->on_end("It exited.");
  workers_.current->on_end("The checkpoint is gone.");
  EXPECT_EQ(workers_.resumed, 2);
  workers_.current->on_ready();
  workers_.answer_value("F");
  EXPECT_THAT(message(0), HasSubstr("It exited."));
  EXPECT_THAT(message(0), HasSubstr("Replayed, 1 definition: (defun f () 1)."));
}

TEST_F(SessionTest, SaysWhatIsLostWhenNotEvenAFreshLispCanBeHad) {
  workers_.why_not_freeze = "Threads are running.";
  start_and_answer();
  evaluate("(exit)");
  workers_.current->on_end("It exited.");
  workers_.current->on_end("There is no SBCL.");
  EXPECT_THAT(message(0), HasSubstr("It exited."));
  EXPECT_THAT(message(0), HasSubstr("is lost"));
  EXPECT_EQ(session_.state(), SessionState::kCold);
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
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(outcomes_[0].answer.text,
            "Session reset. All definitions cleared.\nCurrent package: CL-USER");
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
  EXPECT_EQ(written(outcomes_[2].written->output), "");
  EXPECT_EQ(outcomes_[2].between, nullptr);
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

TEST_F(SessionTest, FailsNobodyWhenTheWorkerOfACancelledCallDoesNotStart) {
  session_.cancel(evaluate("1"));
  workers_.current->on_end("There is no SBCL.");
  EXPECT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(session_.state(), SessionState::kCold);
}

TEST_F(SessionTest, ShowsWhatWasWrittenBetweenCallsWithTheNextOne) {
  start_and_answer();
  workers_.current->on_output(worker::Stream::kOutput, "tick");
  evaluate("1");
  workers_.answer_value("1");
  ASSERT_NE(outcomes_[0].between, nullptr);
  EXPECT_EQ(written(outcomes_[0].between->output), "tick");
  evaluate("2");
  workers_.answer_value("2");
  EXPECT_EQ(outcomes_[1].between, nullptr);
}

// Jobs

TEST_F(SessionTest, AnswersACallThatOutlivesItsWaitAndGoesOn) {
  start_and_answer();
  const CallId id = evaluate("(work)", {.wait = Duration(1000)});
  workers_.current->on_output(worker::Stream::kOutput, "half");
  clock_.advance(Duration(1000));
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_TRUE(outcomes_[0].pending->running);
  EXPECT_EQ(outcomes_[0].pending->since, Duration(1000));
  EXPECT_EQ(outcomes_[0].number, id);
  EXPECT_EQ(workers_.interrupts, 0);

  workers_.current->on_output(worker::Stream::kOutput, "whole");
  (void)session_.wait_for(id, {}, record());
  workers_.answer_value("1");
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_EQ(outcomes_[1].output_from, 4U);
  EXPECT_EQ(outcomes_[1].answer.values->front(), "1");
}

TEST_F(SessionTest, KeepsTheAnswerOfAJobUntilItIsRead) {
  start_and_answer();
  const CallId id = evaluate("(work)", {.wait = Duration(0)});
  clock_.advance(Duration(0));
  workers_.answer_value("1");
  EXPECT_EQ(outcomes_.size(), 1U);
  (void)session_.wait_for(std::nullopt, {}, record());
  EXPECT_EQ(outcomes_.at(1).answer.values->front(), "1");
  (void)session_.wait_for(id, {}, record());
  EXPECT_EQ(condition_type(2), "NO-SUCH-JOB");
}

TEST_F(SessionTest, ForgetsTheOldestAnswersThatNobodyReads) {
  start_and_answer();
  const CallId first = evaluate("1", {.wait = Duration(0)});
  clock_.advance(Duration(0));
  workers_.answer_value("1");
  for (std::size_t i = 0; i < limits::kUnreadJobs; ++i) {
    evaluate("2", {.wait = Duration(0)});
    clock_.advance(Duration(0));
    workers_.answer_value("2");
  }
  outcomes_.clear();
  (void)session_.wait_for(first, {}, record());
  EXPECT_EQ(condition_type(0), "NO-SUCH-JOB");
  (void)session_.wait_for(first + 1, {}, record());
  EXPECT_EQ(outcomes_[1].answer.values->front(), "2");
}

TEST_F(SessionTest, SaysWhatAQueuedCallWaitsFor) {
  start_and_answer();
  evaluate("(endless)");
  evaluate("2", {.wait = Duration(2000)});
  clock_.advance(Duration(2000));
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_FALSE(outcomes_[0].pending->running);
  EXPECT_EQ(outcomes_[0].pending->behind,
            "job 2 (evaluate-lisp (endless)), which has been running for 2.0 s");
}

TEST_F(SessionTest, LetsAWaitEndWithoutEndingTheWork) {
  start_and_answer();
  evaluate("(work)", {.wait = Duration(0)});
  clock_.advance(Duration(0));
  session_.stop_waiting(session_.wait_for(std::nullopt, {}, record()));
  workers_.answer_value("1");
  EXPECT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(workers_.interrupts, 0);
}

TEST_F(SessionTest, TellsProgressAFewTimesASecond) {
  start_and_answer();
  std::vector<std::string> lines;
  evaluate("(work)", {.progress = [&lines](std::string_view line) { lines.emplace_back(line); }});
  for (const char* line : {"a\n", "b\n", "c\n"}) {
    workers_.current->on_output(worker::Stream::kOutput, line);
  }
  EXPECT_THAT(lines, ElementsAre("a"));
  clock_.advance(limits::kProgressPause);
  EXPECT_THAT(lines, ElementsAre("a", "c"));
  clock_.advance(limits::kProgressPause);
  EXPECT_THAT(lines, ElementsAre("a", "c"));
}

// The ladder

TEST_F(SessionTest, InterruptsWhatReachesItsTimeout) {
  start_and_answer();
  evaluate("(loop)", {.timeout = Duration(2000)});
  clock_.advance(Duration(2000));
  EXPECT_EQ(workers_.interrupts, 1);
  workers_.answer({.condition = worker::Condition{"INTERRUPTED", "", {"(LOOP)"}}});
  EXPECT_EQ(condition_type(0), "TIMEOUT");
  EXPECT_THAT(message(0), HasSubstr("reached its timeout of 2.0 s and was interrupted"));
  EXPECT_THAT(message(0), HasSubstr("the session keeps"));
  EXPECT_THAT(outcomes_[0].answer.condition->backtrace, ElementsAre("(LOOP)"));
}

TEST_F(SessionTest, KillsWhatDoesNotStopAndSaysWhereItWas) {
  start_and_answer();
  evaluate("(loop)", {.timeout = Duration(2000)});
  clock_.advance(Duration(2000));
  workers_.current->on_interrupting({"(CLEANUP)"});
  clock_.advance(limits::kInterruptGrace);
  workers_.current->on_end("It was killed.");
  workers_.current->on_ready();
  EXPECT_EQ(condition_type(0), "TIMEOUT");
  EXPECT_THAT(message(0), HasSubstr("did not stop when it was interrupted"));
  EXPECT_THAT(outcomes_[0].answer.condition->backtrace, ElementsAre("(CLEANUP)"));
  evaluate("1");
  workers_.answer_value("1");
  EXPECT_EQ(outcomes_[1].notice, std::nullopt);
}

TEST_F(SessionTest, InterruptsTheRunningCallForWhoeverAsks) {
  start_and_answer();
  evaluate("(loop)");
  session_.interrupt(std::nullopt, record());
  workers_.answer({.condition = worker::Condition{"INTERRUPTED", "", {}}});
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_EQ(message(0), message(1));
  EXPECT_THAT(message(0), HasSubstr("its cleanup forms ran"));
}

TEST_F(SessionTest, TakesBackAQueuedCallForWhoeverAsks) {
  start_and_answer();
  evaluate("(loop)");
  session_.interrupt(evaluate("2"), record());
  ASSERT_EQ(outcomes_.size(), 2U);
  EXPECT_EQ(message(1), "Taken back before it was started.");
  EXPECT_EQ(workers_.interrupts, 0);
}

TEST_F(SessionTest, SaysThatThereIsNothingToInterrupt) {
  start_and_answer();
  session_.interrupt(std::nullopt, record());
  EXPECT_EQ(condition_type(0), "NO-SUCH-JOB");
}

// Checkpoints

TEST_F(SessionTest, UndoesTheLastCall) {
  start_and_answer();
  define("(defun f () 1)");
  outcomes_.clear();
  undo(1);
  EXPECT_EQ(workers_.resumed, 1);
  workers_.current->on_ready();
  EXPECT_THAT(text(0), HasSubstr("Undone: (defun f () 1)"));
  EXPECT_EQ(session_.timeline().now().what, "1");
  EXPECT_TRUE(session_.timeline().is_safe());
}

TEST_F(SessionTest, UndoesEverythingBackToAFreshLisp) {
  start_and_answer();
  define("(defun f () 1)");
  undo(2);
  EXPECT_EQ(workers_.started, 2);
  workers_.current->on_ready();
  undo(1);
  EXPECT_THAT(message(outcomes_.size() - 1), HasSubstr("nothing to undo"));
}

TEST_F(SessionTest, UndoesNoMoreThanItsDepth) {
  start_and_answer();
  for (std::size_t i = 0; i <= limits::kUndoDepth; ++i) {
    define("(defun f () 1)");
  }
  outcomes_.clear();
  undo(limits::kUndoDepth + 1);
  EXPECT_EQ(message(0), "Only 10 calls can be undone.");
}

TEST_F(SessionTest, SaysWhyAStateCannotBeGoneBackTo) {
  start_and_answer();
  workers_.why_not_freeze = "Threads are running.";
  define("(defun f () 1)");
  workers_.why_not_freeze = "";
  define("(defun g () 1)");
  outcomes_.clear();
  undo(1);
  EXPECT_THAT(message(0), HasSubstr("Threads are running."));
  undo(2);
  workers_.current->on_ready();
  EXPECT_THAT(text(1), HasSubstr("Undone: the last 2 calls"));
}

TEST_F(SessionTest, GoesBackToANameAsOftenAsWanted) {
  start_and_answer();
  save("before");
  define("(defun f () 1)");
  outcomes_.clear();
  for (int i = 0; i < 2; ++i) {
    restore("before");
    workers_.current->on_ready();
  }
  EXPECT_THAT(text(1), HasSubstr("Restored checkpoint 'before'"));
  // Going back is a step of its own.
  undo(2);
  workers_.current->on_ready();
  EXPECT_EQ(session_.timeline().now().what, "(defun f () 1)");
}

TEST_F(SessionTest, RefusesMoreNamesThanThereMayBe) {
  start_and_answer();
  for (std::size_t i = 0; i < limits::kNamedCheckpoints; ++i) {
    save("n" + std::to_string(i));
  }
  outcomes_.clear();
  save("one-more");
  EXPECT_EQ(condition_type(0), "TOO-MANY-CHECKPOINTS");
  save("n0");
  EXPECT_EQ(condition_type(1), "");
  EXPECT_TRUE(session_.drop("n0"));
  save("one-more");
  EXPECT_EQ(condition_type(2), "");
}

TEST_F(SessionTest, SaysWhenANamedCheckpointDoesNotExistOrIsGone) {
  start_and_answer();
  restore("nowhere");
  EXPECT_THAT(message(0), HasSubstr("no checkpoint named 'nowhere'"));
  define("(defun f () 1)");
  save("here");
  define("(defun g () 1)");
  outcomes_.clear();
  restore("here");
  workers_.current->on_end("The checkpoint is gone.");
  EXPECT_THAT(message(0), HasSubstr("cannot be used any more"));
  workers_.current->on_ready();  // It is back where it was.
  EXPECT_EQ(session_.timeline().now().what, "(defun g () 1)");
}

TEST_F(SessionTest, PutsTheSessionBackAfterADryRun) {
  start_and_answer();
  evaluate("(defun f () 1)", {.keep = false});
  workers_.answer_value("F");
  EXPECT_THAT(*outcomes_[0].remark, HasSubstr("Dry run"));
  EXPECT_EQ(workers_.resumed, 1);
  workers_.current->on_ready();
  EXPECT_EQ(session_.timeline().now().what, "1");
  EXPECT_EQ(session_.state(), SessionState::kIdle);
}

TEST_F(SessionTest, RefusesADryRunThatCouldNotBeTakenBack) {
  start_and_answer();
  workers_.why_not_freeze = "Threads are running.";
  define("(defvar *t* 1)");
  outcomes_.clear();
  evaluate("(defun f () 1)", {.keep = false});
  EXPECT_EQ(condition_type(0), "NO-CHECKPOINT");
  EXPECT_THAT(message(0), HasSubstr("Threads are running."));
}

TEST_F(SessionTest, CanUndoAReset) {
  start_and_answer();
  define("(defun f () 1)");
  reset();
  undo(1);
  EXPECT_EQ(workers_.resumed, 1);
  workers_.current->on_ready();
  EXPECT_EQ(session_.timeline().now().what, "(defun f () 1)");
}

TEST_F(SessionTest, MakesReadyWhatAResetLeadsToWhileNothingIsAsked) {
  evaluate("(asdf:load-system :a)");
  workers_.current->on_ready();
  worker::WorkerEvents* own = workers_.current;
  workers_.answer(
      {.package = "COMMON-LISP-USER", .systems = {{{.name = "a", .definition = std::nullopt}}}});
  clock_.advance(limits::kQuiet);
  EXPECT_EQ(workers_.started, 2);
  workers_.current->on_ready();
  workers_.answer({.text = ""});
  workers_.current = own;
  outcomes_.clear();
  reset();
  EXPECT_EQ(workers_.resumed, 1);
  workers_.current->on_ready();
  EXPECT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(workers_.started, 2);
}

TEST_F(SessionTest, HandsACopyOfItsStateToAnother) {
  start_and_answer();
  std::optional<Step> copy;
  session_.fork(
      session_.new_call(),
      [&copy](Step step) -> Result<std::string> {
        copy = std::move(step);
        return "Here it is.";
      },
      {}, record());
  ASSERT_TRUE(copy);
  EXPECT_EQ(outcomes_.back().answer.text, "Here it is.");
  EXPECT_EQ(copy->what, "copy of session default after call 1");
  Session other("other", around_, *std::move(copy));
  EXPECT_EQ(workers_.resumed, 1);
  workers_.current->on_ready();
  EXPECT_EQ(other.state(), SessionState::kIdle);
}

TEST_F(SessionTest, KeepsTheOutputOfItsLatestCalls) {
  start_and_answer();
  CallId first = 0;
  for (std::size_t i = 0; i <= limits::kCallsWithOutput; ++i) {
    const CallId id = evaluate("1");
    first = first == 0 ? id : first;
    workers_.current->on_output(worker::Stream::kOutput, std::to_string(id));
    workers_.answer_value("1");
  }
  EXPECT_EQ(session_.output_of(first), nullptr);
  EXPECT_EQ(written(session_.output_of(first + 1)->output), std::to_string(first + 1));
  EXPECT_EQ(session_.calls_with_output().size(), limits::kCallsWithOutput);
}

TEST_F(SessionTest, FailsAForkWhoseCopyNobodyTakes) {
  start_and_answer();
  session_.fork(
      session_.new_call(),
      [](const Step&) -> Result<std::string> {
        return std::unexpected(Error{.code = ErrorCode::kInvalid, .message = "No room."});
      },
      {}, record());
  EXPECT_EQ(condition_type(0), "NO-SESSION");
  EXPECT_EQ(message(0), "No room.");
  EXPECT_EQ(session_.state(), SessionState::kIdle);
}

TEST_F(SessionTest, TakesTheRunningCallForTheLatest) {
  start_and_answer();
  const CallId running = evaluate("(loop)");
  evaluate(":waits");
  EXPECT_EQ(session_.output_of(std::nullopt)->call, running);
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
