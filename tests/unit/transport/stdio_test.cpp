#include "transport/stdio.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/loop.h"
#include "support/echo_server.h"

namespace clmcp::transport {
namespace {

constexpr std::string_view kPing = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
constexpr std::string_view kPong = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
constexpr std::string_view kWait =
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"wait\"}}\n";
constexpr std::string_view kDone =
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],"
    "\"isError\":false}}\n";

constexpr std::string_view kWaitWithProgress =
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"wait\","
    "\"_meta\":{\"progressToken\":7}}}\n";
constexpr std::string_view kHalf =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,"
    "\"progress\":1,\"message\":\"half\"}}\n";

Fd file_with(std::string_view content) {
  Fd file(::memfd_create("input", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// A client on the far ends of whatever the Stdio is opened on. What happens is written down in
/// `events_`, and the loop runs just until something is so.
class StdioTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::signal(SIGPIPE, SIG_IGN); }

  void open(Fd in, Fd out) {
    stdio_ = std::make_unique<Stdio>(loop_, std::move(in), std::move(out), echo_.server, log_);
    stdio_->on_input_end([this] { events_.emplace_back("input end"); });
    stdio_->on_idle([this] { events_.emplace_back("idle"); });
    stdio_->on_output_gone([this] { events_.emplace_back("output gone"); });
    stdio_->on_output_error([this](const Error& error) { events_.push_back(error.message); });
  }

  void open_pipes() {
    FdPair requests = *make_pipe();
    FdPair replies = *make_pipe();
    write_ = std::move(requests.theirs);
    read_ = std::move(replies.ours);
    open(std::move(requests.ours), std::move(replies.theirs));
  }

  void open_sockets() {
    FdPair sockets = *make_socket_pair();
    write_ = Fd(::dup(sockets.ours.get()));
    read_ = std::move(sockets.ours);
    Fd copy(::dup(sockets.theirs.get()));
    open(std::move(sockets.theirs), std::move(copy));
  }

  void send(std::string_view text) const {
    ASSERT_EQ(::write(write_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  /// Reads what is there, and the loop does what it can.
  bool step() {
    const bool busy = loop_.context().poll() != 0;
    return read_ && read_some(read_.get(), received_, 64 * limits::kKiB) == IoStatus::kOk ? true
                                                                                          : busy;
  }

  void settle() {
    while (step()) {
    }
  }

  template <typename Condition>
  void run_until(Condition condition) {
    settle();
    while (!condition()) {
      loop_.context().run_one();
      settle();
    }
  }

  void expect_received(std::string_view text) {
    run_until([&] { return received_.size() >= text.size(); });
    EXPECT_EQ(std::exchange(received_, {}), text);
  }

  void expect_events(const std::vector<std::string>& events) {
    run_until([&] { return events_.size() >= events.size(); });
    EXPECT_EQ(std::exchange(events_, {}), events);
  }

  void answer(std::size_t call) { std::move(echo_.waiting.at(call)).answer({.text = "done"}); }

  Loop loop_;
  Log log_{LogLevel::kOff, 2};
  test::EchoServer echo_;
  Fd write_;
  Fd read_;
  std::string received_;
  std::vector<std::string> events_;
  std::unique_ptr<Stdio> stdio_;
};

TEST_F(StdioTest, AnswersOverPipes) {
  open_pipes();
  send(kPing);
  expect_received(kPong);
  send(kWait);
  run_until([this] { return stdio_->in_flight() == 1; });
  answer(0);
  expect_received(kDone);
}

TEST_F(StdioTest, AnswersOverASocket) {
  open_sockets();
  send(kPing);
  expect_received(kPong);
}

TEST_F(StdioTest, TakesAMessageByteByByte) {
  open_pipes();
  for (const char byte : kPing) {
    send({&byte, 1});
    settle();
  }
  expect_received(kPong);
}

TEST_F(StdioTest, WritesRepliesThatAreReadyTogether) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const Fd packets(ends[0]);  // Each write arrives as one packet.
  FdPair requests = *make_pipe();
  write_ = std::move(requests.theirs);
  open(std::move(requests.ours), Fd(ends[1]));
  send(std::string(kPing) + std::string(kWait) + std::string(kPing));
  run_until([this] { return stdio_->in_flight() == 1; });
  std::string packet;
  ASSERT_EQ(read_some(packets.get(), packet, limits::kKiB), IoStatus::kOk);
  EXPECT_EQ(packet, std::string(kPong) + std::string(kPong));
}

TEST_F(StdioTest, IsIdleAfterTheEndOfTheInput) {
  open_pipes();
  send(kPing);
  write_.reset();
  expect_events({"input end", "idle"});
  EXPECT_EQ(received_, kPong);
}

TEST_F(StdioTest, StillAnswersWhatIsInFlightAfterTheEndOfTheInput) {
  open_pipes();
  send(kWait);
  write_.reset();
  expect_events({"input end"});
  EXPECT_EQ(stdio_->in_flight(), 1);
  answer(0);
  expect_events({"idle"});
  EXPECT_EQ(received_, kDone);
}

TEST_F(StdioTest, TakesALastLineWithoutANewline) {
  open_pipes();
  send(kPing.substr(0, kPing.size() - 1));
  write_.reset();
  expect_events({"input end", "idle"});
  EXPECT_EQ(received_, kPong);
}

TEST_F(StdioTest, AnswersAnEndInTheMiddleOfALine) {
  open_pipes();
  send(kPing.substr(0, 10));
  write_.reset();
  expect_events({"input end", "idle"});
  EXPECT_NE(received_.find("Parse error"), std::string::npos);
}

TEST_F(StdioTest, ReadsAndWritesRegularFiles) {
  const Fd output = file_with("");
  open(file_with(std::string(kPing) + std::string(kPing)), Fd(::dup(output.get())));
  expect_events({"input end", "idle"});
  ::lseek(output.get(), 0, SEEK_SET);
  std::string written;
  ASSERT_EQ(read_some(output.get(), written, limits::kKiB), IoStatus::kOk);
  EXPECT_EQ(written, std::string(kPong) + std::string(kPong));
}

TEST_F(StdioTest, RefusesALineBeyondTheLimitAndGoesOn) {
  FdPair replies = *make_pipe();
  read_ = std::move(replies.ours);
  open(file_with(std::string(limits::kMessageBytes + 1, 'x') + "\n" + std::string(kPing)),
       std::move(replies.theirs));
  expect_events({"input end", "idle"});
  EXPECT_NE(received_.find("A message may be at most 16 MiB long"), std::string::npos);
  EXPECT_TRUE(received_.ends_with(kPong));
}

TEST_F(StdioTest, StopsReadingWhileTheClientReadsNothing) {
  open_pipes();
  ::fcntl(write_.get(), F_SETFL, O_NONBLOCK);
  Fd reader = std::exchange(read_, Fd());
  // Its id makes the reply as long as the request.
  const std::string request =
      R"({"jsonrpc":"2.0","method":"ping","id":")" + std::string(100 * limits::kKiB, 'x') + "\"}\n";
  int sent = 0;
  std::string_view rest;
  bool stuck = false;
  while (!stuck) {
    if (rest.empty()) {
      rest = request;
      ++sent;
    }
    if (write_some(write_.get(), rest) == IoStatus::kWouldBlock) {
      settle();
      // Still full after the server did what it could: it has stopped reading.
      stuck = write_some(write_.get(), rest) == IoStatus::kWouldBlock;
    }
    ASSERT_LT(sent, 1000);
  }
  EXPECT_GT(static_cast<std::size_t>(sent) * request.size(), limits::kUnreadReplyBytes);
  read_ = std::move(reader);
  while (!rest.empty()) {
    (void)write_some(write_.get(), rest);  // Would block at first; each step makes room.
    step();
  }
  write_.reset();
  expect_events({"input end", "idle"});
  EXPECT_EQ(std::count(received_.begin(), received_.end(), '\n'), sent);
}

TEST_F(StdioTest, WritesProgressBeforeTheAnswer) {
  open_pipes();
  send(kWaitWithProgress);
  run_until([this] { return stdio_->in_flight() == 1; });
  echo_.waiting.at(0).progress(1, "half");
  expect_received(kHalf);
  write_.reset();
  expect_events({"input end"});
  echo_.waiting.at(0).progress(2, "half");  // It is not taken for the last answer.
  answer(0);
  expect_events({"idle"});
  EXPECT_TRUE(received_.ends_with(kDone));
}

TEST_F(StdioTest, DropsProgressWhileTheClientReadsNothing) {
  open_pipes();
  send(kWaitWithProgress);
  run_until([this] { return stdio_->in_flight() == 1; });
  const std::string message(limits::kMiB, 'x');
  for (int sent = 1; sent <= 100; ++sent) {
    echo_.waiting.at(0).progress(sent, message);
  }
  answer(0);
  write_.reset();
  expect_events({"input end", "idle"});
  const auto lines = std::count(received_.begin(), received_.end(), '\n');
  EXPECT_GT(lines, 16);  // limits::kUnreadReplyBytes in MiB
  EXPECT_LT(lines, 20);
  EXPECT_TRUE(received_.ends_with(kDone));
}

TEST_F(StdioTest, SaysNothingOfProgressToAReaderThatIsGone) {
  open_pipes();
  send(kWaitWithProgress);
  run_until([this] { return stdio_->in_flight() == 1; });
  read_.reset();
  echo_.waiting.at(0).progress(1, "half");
  expect_events({"output gone"});
  echo_.waiting.at(0).progress(2, "most");
  stdio_.reset();
  echo_.waiting.at(0).progress(3, "all");
  settle();
  EXPECT_TRUE(events_.empty());
}

TEST_F(StdioTest, NoticesThatTheReaderIsGoneWithoutWriting) {
  open_pipes();
  send(kWait);
  run_until([this] { return stdio_->in_flight() == 1; });
  read_.reset();
  expect_events({"output gone"});
  answer(0);
  EXPECT_FALSE(step());
}

TEST_F(StdioTest, NoticesThatASocketIsClosed) {
  open_sockets();
  send(kWait);
  run_until([this] { return stdio_->in_flight() == 1; });
  read_.reset();
  write_.reset();
  run_until([this] { return !events_.empty() && events_.back() == "output gone"; });
}

TEST_F(StdioTest, NoticesThatTheReaderIsGoneWhenWriting) {
  open_pipes();
  send(kWait);
  run_until([this] { return stdio_->in_flight() == 1; });
  read_.reset();
  answer(0);  // The loop had no chance to see the hang-up.
  expect_events({"output gone"});
}

TEST_F(StdioTest, ReadsOnWhenOneSideOfASocketIsShut) {
  open_sockets();
  send(kWait);
  ::shutdown(write_.get(), SHUT_WR);
  expect_events({"input end"});
  answer(0);
  expect_events({"idle"});
  EXPECT_EQ(received_, kDone);
}

TEST_F(StdioTest, SaysWhyItCannotWrite) {
  FdPair requests = *make_pipe();
  write_ = std::move(requests.theirs);
  open(std::move(requests.ours), Fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)));
  send(kPing);
  expect_events({"Cannot write to the client: No space left on device"});
}

TEST_F(StdioTest, TakesAnUnreadableInputAsItsEnd) {
  FdPair replies = *make_pipe();
  read_ = std::move(replies.ours);
  open(Fd(::open("/", O_RDONLY | O_CLOEXEC)), std::move(replies.theirs));
  expect_events({"input end", "idle"});
}

TEST_F(StdioTest, MayBeDestroyedByItsOwnCallback) {
  open_pipes();
  bool destroyed = false;
  stdio_->on_input_end([&] {
    stdio_.reset();
    destroyed = true;
  });
  write_.reset();
  run_until([&] { return destroyed; });
  EXPECT_FALSE(step());
  EXPECT_TRUE(events_.empty());
}

TEST_F(StdioTest, TellsNothingAfterItsDestruction) {
  open_pipes();
  send(kWait);
  run_until([this] { return stdio_->in_flight() == 1; });
  read_.reset();
  answer(0);
  stdio_.reset();
  settle();
  EXPECT_TRUE(events_.empty());
}

}  // namespace
}  // namespace clmcp::transport
