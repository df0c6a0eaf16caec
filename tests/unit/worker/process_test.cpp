// Child, Command, Reaper, ImageFinder and SbclSource with real processes.

#include <chrono>
#include <expected>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/child.h"
#include "worker/command.h"
#include "worker/guardian.h"
#include "worker/image.h"
#include "worker/reaper.h"
#include "worker/sbcl_worker.h"
#include "worker/worker.h"

namespace clmcp::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest() {
    directory_ = fs::temp_directory_path() / ("cl-mcp-test-" + std::to_string(::getpid()));
    fs::create_directories(directory_);
  }

  ~ProcessTest() override { fs::remove_all(directory_); }

  /// Runs the loop until somebody stops it; a test that hangs fails.
  void run() {
    const Timer limit = loop_.after(std::chrono::seconds(20), [this] {
      ADD_FAILURE() << "nothing happened for 20 seconds";
      loop_.stop();
    });
    loop_.restart();
    loop_.run();
  }

  CommandResult run_command(const std::string& script, Duration limit = Duration(10'000)) {
    std::optional<CommandResult> result;
    auto command = Command::start(loop_, reaper_, {"/bin/sh", "-c", script}, {{"ADDED", "value"}},
                                  limit, [&](CommandResult got) {
                                    result = std::move(got);
                                    loop_.stop();
                                  });
    EXPECT_TRUE(command.has_value());
    run();
    return result.value_or(CommandResult{});
  }

  fs::path write_script(const std::string& name, const std::string& body) {
    fs::path path = directory_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << body;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  Result<fs::path> find_image(ImageOptions options) {
    ImageFinder finder(loop_, reaper_, std::move(options));
    std::optional<Result<fs::path>> found;
    finder.find([&](Result<fs::path> result) {
      found = std::move(result);
      loop_.stop();
    });
    run();
    return *found;
  }

  Loop loop_;
  Reaper reaper_{loop_};
  fs::path directory_;
};

TEST_F(ProcessTest, ACommandsOutputAndExitCodeAreGathered) {
  const CommandResult result = run_command("echo out; echo err >&2; echo $ADDED; exit 3");
  EXPECT_EQ(result.output, "out\nerr\nvalue\n");
  EXPECT_EQ(result.status.exit_code, 3);
}

TEST_F(ProcessTest, ACommandReadsEndOfFile) {
  EXPECT_EQ(run_command("cat; echo done").output, "done\n");
}

TEST_F(ProcessTest, ACommandThatRunsTooLongIsEnded) {
  const CommandResult result = run_command("sleep 100 & sleep 100", Duration(50));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.status.signal, SIGKILL);
}

TEST_F(ProcessTest, ACommandsFloodIsBoundedAndItsLastWordsAreKept) {
  const CommandResult result = run_command("head -c 5000000 /dev/zero | tr '\\0' x; echo end");
  EXPECT_LE(result.output.size(), 2U << 20U);
  EXPECT_TRUE(result.output.ends_with("xend\n"));
}

TEST_F(ProcessTest, AProgramThatDoesNotExistIsNamed) {
  FdPair pipe = *make_pipe();
  FdPair other = *make_pipe();
  const std::string program = directory_ / "none";
  const auto child = Child::start({.argv = {program},
                                   .environment = {},
                                   .output = std::move(pipe.theirs),
                                   .error = std::move(other.theirs),
                                   .control = Fd()},
                                  reaper_, [](ExitStatus) {});
  EXPECT_EQ(child.error().message, "Cannot run " + program + ": No such file or directory");
}

class OrphanTest : public ProcessTest {
 protected:
  /// Starts a process that leaves an orphan behind; the pipe reads end of file once that is gone
  /// too.
  void leave_orphan(const std::string& token, Callback on_exit,
                    const std::string& script = "setsid sleep 1000 & echo started") {
    FdPair pipe = *make_pipe();
    Fd error(::dup(pipe.theirs.get()));
    child_ =
        Child::start({.argv = {"/bin/sh", "-c", script},
                      .environment = {{Reaper::kOwner, token}},
                      .output = std::move(pipe.theirs),
                      .error = std::move(error),
                      .control = Fd(),
                      .token = token},
                     reaper_, [on_exit = std::move(on_exit)](ExitStatus) mutable { on_exit(); });
    output_ = std::move(pipe.ours);
    events_.emplace(loop_, output_.get());
    events_->on_readable([this] {
      if (read_some(output_.get(), said_, 100) == IoStatus::kClosed) {
        gone_ = true;
        loop_.stop();
      }
    });
  }

  /// Stops the loop once all that the death of the child brings about has been done.
  Callback then_stop() {
    return [this] { loop_.post([this] { loop_.stop(); }); };
  }

  /// Another worker, which goes on to live.
  Result<Child> start_other(const std::string& token) {
    FdPair pipe = *make_pipe();
    Fd error(::dup(pipe.theirs.get()));
    return Child::start({.argv = {"/bin/sleep", "1000"},
                         .environment = {{Reaper::kOwner, token}},
                         .output = std::move(pipe.theirs),
                         .error = std::move(error),
                         .control = Fd(),
                         .token = token},
                        reaper_, [](ExitStatus) {});
  }

  Result<Child> child_ = std::unexpected(Error{.code = ErrorCode::kNotFound, .message = ""});
  Fd output_;
  std::optional<FdEvents> events_;
  std::string said_;
  bool gone_ = false;
};

TEST_F(OrphanTest, WhatADeadWorkerLeavesBehindIsEnded) {
  leave_orphan("1", [] {});
  run();
  EXPECT_TRUE(gone_);
}

TEST_F(OrphanTest, WhatADeadWorkerLeavesBehindIsEndedBesideALivingOne) {
  const auto other = start_other("2");
  leave_orphan("1", [] {});
  run();
  EXPECT_TRUE(gone_);
}

TEST_F(OrphanTest, WhatALivingWorkerSentIntoTheBackgroundIsLeftAlone) {
  const auto other = start_other("2");
  leave_orphan("1", then_stop(), "CL_MCP_WORKER=2 setsid sleep 1000 & echo started");
  run();
  EXPECT_FALSE(gone_);
}

TEST_F(OrphanTest, OneThatHidesItsOwnerIsKnownByItsGroup) {
  const auto other = start_other("2");
  leave_orphan("1", [] {}, "env -i sleep 1000 & echo started");
  run();
  EXPECT_TRUE(gone_);
}

TEST_F(OrphanTest, OneThatCannotBeToldIsLeftWhileItMayBeSomebodys) {
  auto other = start_other("2");
  leave_orphan("1", then_stop(), "env -i setsid sleep 1000 & echo started");
  run();
  EXPECT_FALSE(gone_);
  other->kill_group();
  run();
  EXPECT_TRUE(gone_);
}

TEST_F(OrphanTest, WhatOthersSentIntoTheBackgroundIsLeftAlone) {
  leave_orphan("", then_stop());
  run();
  EXPECT_FALSE(gone_);
}

TEST_F(OrphanTest, NoneIsEndedWhileAChildIsAboutToCome) {
  std::optional<Reaper::Patience> patience(std::in_place, reaper_, "1");
  leave_orphan("1", then_stop());
  run();
  EXPECT_FALSE(gone_);
  patience.reset();
  run();
  EXPECT_TRUE(gone_);
}

TEST_F(ProcessTest, AGuardianEndsWhatWeLeaveBehindWhenWeAreGone) {
  // The reading end sees the end of file when the last process that holds the other one is gone.
  FdPair pipe = *make_pipe();
  {
    const auto guardian = Guardian::start(reaper_);
    ASSERT_TRUE(guardian.has_value());
    const std::string script = "setsid sleep 1000 & sleep 1000 & echo started";
    const pid_t shell = ::fork();
    if (shell == 0) {
      (void)::setenv(Guardian::kVariable, guardian->token().c_str(), 1);
      (void)::dup2(pipe.theirs.get(), 1);
      (void)::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      ::_exit(127);
    }
    pipe.theirs.reset();
    (void)::waitpid(shell, nullptr, 0);
  }
  FdEvents events(loop_, pipe.ours.get());
  std::string said;
  events.on_readable([&] {
    if (read_some(pipe.ours.get(), said, 100) == IoStatus::kClosed) {
      loop_.stop();
    }
  });
  run();
  EXPECT_EQ(said, "started\n");
}

TEST_F(ProcessTest, AMissingImageIsExplained) {
  const auto image =
      find_image({.image = directory_ / "none", .lisp = {}, .agent = {}, .cache = {}});
  EXPECT_THAT(image.error().message, HasSubstr("There is no usable worker image at"));
}

TEST_F(ProcessTest, AnotherLispThatDoesNotExistIsExplained) {
  const auto image =
      find_image({.image = {}, .lisp = "/nonexistent/sbcl", .agent = {}, .cache = directory_});
  EXPECT_EQ(image.error().message,
            "Cannot run /nonexistent/sbcl: No such file or directory. Name an SBCL that exists "
            "with --lisp.");
}

TEST_F(ProcessTest, AProgramThatIsNoSbclIsExplained) {
  const auto image =
      find_image({.image = {}, .lisp = "/bin/false", .agent = {}, .cache = directory_});
  EXPECT_THAT(image.error().message, HasSubstr("/bin/false is not a usable SBCL"));
}

TEST_F(ProcessTest, AnotherLispMakesItsImageOnce) {
  const fs::path lisp = write_script("sbcl", R"(
if [ "$1" = --version ]; then echo "SBCL 9.9"; exit; fi
echo made >> )" + (directory_ / "count").native() +
                                                 R"(
echo image > "$CL_MCP_WORKER_IMAGE"; chmod +x "$CL_MCP_WORKER_IMAGE")");
  const ImageOptions options = {
      .image = {}, .lisp = lisp, .agent = directory_ / "agent", .cache = directory_ / "cache"};
  const auto first = find_image(options);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const auto second = find_image(options);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(fs::file_size(directory_ / "count"), 5U);
}

TEST_F(ProcessTest, AnImageThatIsHalfMadeGoesWhenWeGo) {
  const fs::path lisp = write_script("sbcl", R"(
if [ "$1" = --version ]; then echo "SBCL 9.9"; exit; fi
echo half > "$CL_MCP_WORKER_IMAGE"; echo begun; exec sleep 1000)");
  const fs::path cache = directory_ / "cache";
  {
    ImageFinder finder(loop_, reaper_,
                       {.image = {}, .lisp = lisp, .agent = directory_ / "agent", .cache = cache});
    finder.find([](const Result<fs::path>&) { ADD_FAILURE() << "it cannot be found"; });
    std::optional<Timer> poll;
    std::move_only_function<void()> look = [&] {
      if (!fs::exists(cache) || fs::is_empty(cache)) {
        poll = loop_.after(Duration(1), [&] { look(); });
      } else {
        loop_.stop();
      }
    };
    look();
    run();
  }
  EXPECT_TRUE(fs::is_empty(cache));
}

TEST_F(ProcessTest, OnlyAnImageOfOurOwnMakingIsDiscarded) {
  ImageFinder finder(loop_, reaper_,
                     {.image = {}, .lisp = "sbcl", .agent = {}, .cache = directory_});
  const fs::path kept = write_script("worker-1", "");
  EXPECT_TRUE(finder.discard(kept));
  EXPECT_FALSE(fs::exists(kept));
  EXPECT_FALSE(finder.discard("/usr/lib/cl-mcp-server/cl-mcp-worker"));
}

TEST_F(ProcessTest, AnImageThatCannotBeMadeIsExplainedWithItsLastWords) {
  const fs::path lisp = write_script("sbcl", R"(
if [ "$1" = --version ]; then echo "SBCL 9.9"; exit; fi
echo "No space left on device" >&2; exit 1)");
  const auto image = find_image(
      {.image = {}, .lisp = lisp, .agent = directory_ / "agent", .cache = directory_ / "cache"});
  EXPECT_THAT(image.error().message, HasSubstr("could not make a worker image"));
  EXPECT_THAT(image.error().message, HasSubstr("No space left on device"));
}

/// Writes down what a worker says and stops the loop at the first of the awaited events.
class Recorder final : public WorkerEvents {
 public:
  explicit Recorder(Loop& loop) : loop_(loop) {}

  void on_ready() override {
    ready = true;
    loop_.stop();
  }

  void on_output(Stream stream, std::string_view bytes) override {
    (stream == Stream::kOutput ? output : error) += bytes;
  }

  void on_interrupting(std::vector<std::string> frames) override { backtrace = std::move(frames); }

  void on_answer(Answer got) override {
    answer = std::move(got);
    loop_.stop();
  }

  void on_end(std::string how) override {
    end = std::move(how);
    loop_.stop();
  }

  bool ready = false;
  std::string output;
  std::string error;
  std::vector<std::string> backtrace;
  std::optional<Answer> answer;
  std::optional<std::string> end;

 private:
  Loop& loop_;
};

class WorkerTest : public ProcessTest {
 protected:
  /// A process from an image, as the template is, whose agent is a shell script. `say` writes a
  /// frame, `hear` reads bytes: the request that the tests send has 19.
  std::unique_ptr<Worker> start(const std::string& script) {
    const fs::path image = write_script("worker", R"sh(
say() { printf '%08x%s' "$(printf %s "$1" | wc -c)" "$1" >&3; }
hear() { dd bs=1 count="$1" <&3 >/dev/null 2>&1; }
)sh" + script);
    images_.emplace(loop_, reaper_,
                    ImageOptions{.image = image, .lisp = {}, .agent = {}, .cache = {}});
    source_.emplace(loop_, reaper_, *images_);
    return source_->start_image(events_);
  }

  Recorder events_{loop_};
  std::optional<ImageFinder> images_;
  std::optional<SbclSource> source_;
};

constexpr const char* kReady = "say '(:ready :protocol 1 :lisp \"sh\")'\n";

TEST_F(WorkerTest, AnswersAfterTheOutputThatWasWrittenBefore) {
  const auto worker = start(std::string(kReady) +
                            "hear 19; echo out; echo err >&2\n"
                            "say '(:done :id 1 :text \"yes\")'; hear 1\n");
  run();
  ASSERT_TRUE(events_.ready);
  worker->request({.operation = "go", .arguments = {}});
  run();
  EXPECT_EQ(events_.answer->text, "yes");
  EXPECT_EQ(events_.output, "out\n");
  EXPECT_EQ(events_.error, "err\n");
}

TEST_F(WorkerTest, SaysHowItEndedAndWhatItSaidWhenItDiesAtStart) {
  const auto worker = start("echo 'no more heap' >&2; exit 7\n");
  run();
  EXPECT_THAT(*events_.end, HasSubstr("exited with code 7 before it was ready"));
  EXPECT_THAT(*events_.end, HasSubstr("no more heap"));
}

TEST_F(WorkerTest, SaysSoToWhoeverWaitsForACopyOfIt) {
  const auto process = start("echo 'no more heap' >&2; exit 7\n");
  run();
  Recorder waiting(loop_);
  const auto worker = source_->start(waiting);
  run();
  EXPECT_EQ(*waiting.end, *events_.end);
}

TEST_F(WorkerTest, IsStartedWithTheHeapThatWasAskedFor) {
  const auto worker = start("echo \"$@\" >&2; exit 7\n");
  run();
  EXPECT_THAT(*events_.end, HasSubstr(fmt::format("--dynamic-space-size {}MB --end-runtime-options",
                                                  default_heap_megabytes())));
}

TEST_F(WorkerTest, IsNotFrozenWithoutADescriptorAndGoesOn) {
  const auto worker =
      start(std::string(kReady) + "hear 19; say '(:done :id 1 :text \"yes\")'; hear 1\n");
  run();
  rlimit before{};
  (void)::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  (void)::setrlimit(RLIMIT_NOFILE, &none);
  std::string why;
  worker->freeze([&](const auto& frozen) { why = frozen ? "" : frozen.error().message; });
  (void)::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(why, "Cannot make a socket pair: Too many open files");
  worker->request({.operation = "go", .arguments = {}});
  run();
  EXPECT_EQ(events_.answer->text, "yes");
}

TEST_F(WorkerTest, SaysWhichSignalKilledIt) {
  const auto worker = start(std::string(kReady) + "hear 19; kill -SEGV $$\n");
  run();
  worker->request({.operation = "go", .arguments = {}});
  run();
  EXPECT_EQ(*events_.end, "The Lisp process was killed by signal 11 (Segmentation fault).");
}

TEST_F(WorkerTest, EndsAWorkerThatBreaksTheProtocol) {
  const auto worker = start("printf 'Hello, I am not a frame' >&3; sleep 100\n");
  run();
  EXPECT_THAT(*events_.end, HasSubstr("broke the protocol"));
}

TEST_F(WorkerTest, EndsAWorkerThatAnswersWhatItWasNotAsked) {
  const auto worker = start(std::string(kReady) + "say '(:done :id 1)'; sleep 100\n");
  run();
  run();
  EXPECT_THAT(*events_.end, HasSubstr("answered what it was not asked"));
}

TEST_F(WorkerTest, EndsAWorkerThatStopsWhatItWasNotAsked) {
  const auto worker =
      start(std::string(kReady) + "say '(:interrupting :id 1 :backtrace nil)'; sleep 100\n");
  run();
  run();
  EXPECT_THAT(*events_.end, HasSubstr("stops what it was not asked"));
}

TEST_F(WorkerTest, TellsHowMuchMemoryItTakes) {
  const auto worker = start(std::string(kReady) + "hear 1\n");
  run();
  EXPECT_GT(worker->memory(), 1000U);
  worker->kill();
  run();
  EXPECT_EQ(worker->memory(), 0U);
}

TEST_F(WorkerTest, EndsAWorkerOfAnotherProtocol) {
  const auto worker = start("say '(:ready :protocol 2 :lisp \"sh\")'; sleep 100\n");
  run();
  EXPECT_THAT(*events_.end, HasSubstr("speaks protocol 2 where 1 is wanted"));
}

TEST_F(WorkerTest, EndsAWorkerThatClosedItsLink) {
  const auto worker = start(std::string(kReady) + "exec 3>&-; sleep 100\n");
  run();
  run();
  EXPECT_THAT(*events_.end, HasSubstr("killed by signal 9"));
}

TEST_F(WorkerTest, InterruptsTheProcess) {
  const auto worker = start(
      "trap 'say \"(:interrupting :id 1 :backtrace (\\\"(F)\\\"))\";"
      " say \"(:done :id 1 :text \\\"stopped\\\")\"; exit' INT\n" +
      std::string(kReady) + "hear 19; echo busy; while :; do sleep 0.01; done\n");
  run();
  worker->request({.operation = "go", .arguments = {}});
  // Once it says that it is busy, it is past reading the request.
  std::optional<Timer> poll;
  std::move_only_function<void()> look = [&] {
    if (events_.output.empty()) {
      poll = loop_.after(Duration(1), [&] { look(); });
    } else {
      worker->interrupt();
    }
  };
  look();
  run();
  EXPECT_EQ(events_.backtrace, std::vector<std::string>{"(F)"});
  EXPECT_EQ(events_.answer->text, "stopped");
}

TEST_F(WorkerTest, ReadsAnAnswerOfManyMegabytes) {
  const auto worker = start(std::string(kReady) +
                            "hear 19\n"
                            "{ printf '%08x(:done :id 1 :text \"' 8388630;"
                            " head -c 8388608 /dev/zero | tr '\\0' x; printf '\")'; } >&3\n"
                            "hear 1\n");
  run();
  worker->request({.operation = "go", .arguments = {}});
  run();
  ASSERT_TRUE(events_.answer.has_value()) << events_.end.value_or("");
  EXPECT_EQ(events_.answer->text->size(), 8388608U);
}

}  // namespace
}  // namespace clmcp::worker
