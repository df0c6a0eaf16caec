#pragma once

#include <functional>
#include <initializer_list>
#include <memory>

#include "base/clock.h"

namespace boost::asio {
class io_context;  // NOLINT(readability-identifier-naming): Asio's name
}

namespace clmcp {

/// The one event loop of the one thread. Asio behind a small door, so that only the files that need
/// its sockets pay for its headers.
class Loop final : public Clock {
 public:
  Loop();
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  Loop(Loop&&) = delete;
  Loop& operator=(Loop&&) = delete;

  /// Runs until stop() is called; after restart() it can run again.
  void run();
  void stop();
  void restart();

  /// Calls `call` from the loop, soon, never from inside post().
  void post(Callback call);

  [[nodiscard]] TimePoint now() const override;
  [[nodiscard]] Timer after(Duration delay, Callback call) override;

  /// Calls `call` with the number each time one of `signals` arrives, for as long as the loop
  /// lives.
  void on_signals(std::initializer_list<int> signals, std::move_only_function<void(int)> call);

  [[nodiscard]] boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What happens on one descriptor. It does not own the descriptor and must go before it is closed.
/// A callback may destroy the FdEvents it comes from.
class FdEvents {
 public:
  FdEvents(Loop& loop, int fd);
  ~FdEvents();
  FdEvents(FdEvents&&) = delete;
  FdEvents& operator=(FdEvents&&) = delete;
  FdEvents(const FdEvents&) = delete;
  FdEvents& operator=(const FdEvents&) = delete;

  /// Calls `call` whenever there is something to read (or the end of file), until paused.
  void on_readable(Callback call);
  void pause_reading();
  void resume_reading();

  /// Calls `call` once, when writing will not block.
  void once_writable(Callback call);

  /// Calls `call` once, when the other end is gone.
  void once_hung_up(Callback call);

 private:
  struct State;
  std::shared_ptr<State> state_;  // Shared with the waits that Asio holds, which end after us.
};

}  // namespace clmcp
