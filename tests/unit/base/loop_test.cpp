#include "base/loop.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/fd.h"

namespace clmcp {
namespace {

void write_all(const Fd& fd, std::string_view text) {
  ASSERT_EQ(write_some(fd.get(), text), IoStatus::kOk);
}

TEST(Loop, RunsWhatIsPostedInOrder) {
  Loop loop;
  std::string order;
  loop.post([&] { order += 'a'; });
  loop.post([&] {
    order += 'b';
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(order, "ab");
}

TEST(Loop, CallsATimerUnlessItIsCalledOff) {
  Loop loop;
  bool called_off = false;
  Timer first = loop.after(Duration(1), [&] { called_off = true; });
  const Timer second = loop.after(Duration(5), [&] { loop.stop(); });
  first.cancel();
  loop.run();
  EXPECT_FALSE(called_off);
}

TEST(Loop, PassesOnSignals) {
  Loop loop;
  int got = 0;
  loop.on_signals({SIGUSR1, SIGUSR2}, [&](int number) {
    got = number;
    loop.stop();
  });
  loop.post([] { (void)std::raise(SIGUSR2); });
  loop.run();
  EXPECT_EQ(got, SIGUSR2);
}

TEST(FdEvents, CallsAgainWhileThereIsSomethingToRead) {
  Loop loop;
  FdPair pair = *make_socket_pair();
  FdEvents events(loop, pair.ours.get());
  std::string text;
  write_all(pair.theirs, "abc");
  events.on_readable([&] {
    read_some(pair.ours.get(), text, 1);
    if (text == "abc") {
      loop.stop();
    }
  });
  loop.run();
  EXPECT_EQ(text, "abc");
}

TEST(FdEvents, ReadsNothingWhilePaused) {
  Loop loop;
  FdPair pair = *make_socket_pair();
  FdEvents events(loop, pair.ours.get());
  int calls = 0;
  events.on_readable([&] {
    ++calls;
    events.pause_reading();
    loop.post([&] { loop.post([&] { loop.stop(); }); });
  });
  write_all(pair.theirs, "abc");
  loop.run();
  EXPECT_EQ(calls, 1);
  loop.restart();
  events.resume_reading();
  loop.run();
  EXPECT_EQ(calls, 2);
}

TEST(FdEvents, MayBeDestroyedByItsOwnCallback) {
  Loop loop;
  FdPair pair = *make_socket_pair();
  auto events = std::make_unique<FdEvents>(loop, pair.ours.get());
  events->on_readable([&] {
    events.reset();
    loop.stop();
  });
  write_all(pair.theirs, "a");
  loop.run();
  EXPECT_EQ(events, nullptr);
}

TEST(FdEvents, NoticesThatNobodyReadsAPipe) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Fd reader(ends[0]);
  const Fd writer(ends[1]);
  FdEvents events(loop, writer.get());
  events.once_hung_up([&] { loop.stop(); });
  loop.post([&] { reader.reset(); });
  loop.run();
}

TEST(FdEvents, FindsARegularFileReady) {
  Loop loop;
  std::FILE* file = std::tmpfile();
  const Fd fd(::dup(::fileno(file)));
  (void)std::fclose(file);
  FdEvents events(loop, fd.get());
  bool readable = false;
  events.on_readable([&] {
    readable = true;
    events.pause_reading();
    events.once_writable([&] { loop.stop(); });
  });
  loop.run();
  EXPECT_TRUE(readable);
}

}  // namespace
}  // namespace clmcp
