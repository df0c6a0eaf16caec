#include "base/loop.h"

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/descriptor_base.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include "base/clock.h"

namespace asio = boost::asio;
using boost::system::error_code;

namespace clmcp {
namespace {

struct SignalWatch {
  SignalWatch(asio::io_context& context, std::move_only_function<void(int)> on_signal)
      : signals(context), call(std::move(on_signal)) {}

  void wait() {
    signals.async_wait([this](const error_code& error, int number) {
      if (!error) {
        call(number);
        wait();
      }
    });
  }

  asio::signal_set signals;
  std::move_only_function<void(int)> call;
};

struct PendingTimer {
  PendingTimer(asio::io_context& context, Duration delay, Callback on_time)
      : timer(context, delay), call(std::move(on_time)) {}

  asio::steady_timer timer;
  Callback call;  // Emptied when called off: Asio may have queued the handler already.
};

}  // namespace

struct Loop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  std::vector<std::unique_ptr<SignalWatch>> signal_watches;
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}

Loop::~Loop() = default;

void Loop::run() {
  impl_->context.run();
}

void Loop::stop() {
  impl_->context.stop();
}

void Loop::restart() {
  impl_->context.restart();
}

void Loop::post(Callback call) {
  asio::post(impl_->context, std::move(call));
}

TimePoint Loop::now() const {
  return std::chrono::steady_clock::now();
}

Timer Loop::after(Duration delay, Callback call) {
  // Two owners: the handler that Asio keeps, and the Timer that may call it off.
  auto pending = std::make_shared<PendingTimer>(impl_->context, delay, std::move(call));
  pending->timer.async_wait([pending](const error_code& error) {
    if (!error && pending->call) {
      std::exchange(pending->call, nullptr)();
    }
  });
  return Timer([pending] {
    pending->call = nullptr;
    pending->timer.cancel();
  });
}

void Loop::on_signals(std::initializer_list<int> signals, std::move_only_function<void(int)> call) {
  auto watch = std::make_unique<SignalWatch>(impl_->context, std::move(call));
  for (const int number : signals) {
    watch->signals.add(number);
  }
  watch->wait();
  impl_->signal_watches.push_back(std::move(watch));
}

asio::io_context& Loop::context() {
  return impl_->context;
}

struct FdEvents::State : std::enable_shared_from_this<FdEvents::State> {
  State(Loop& loop, int fd) : descriptor(loop.context(), fd) {}

  ~State() { detach(); }

  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;

  void detach() {
    if (descriptor.is_open()) {
      (void)descriptor.release();  // The fd is not ours to close; pending waits end with an error.
    }
  }

  // Epoll refuses regular files, which are always ready; Asio passes that on as "not supported".
  static bool ready(const error_code& error) {
    return !error || error == asio::error::operation_not_supported;
  }

  void wait_readable() {
    if (waiting || !reading || !descriptor.is_open()) {
      return;
    }
    waiting = true;
    descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                          [self = shared_from_this()](const error_code& error) {
                            self->waiting = false;
                            if (ready(error) && self->reading) {
                              self->call_readable();
                            }
                          });
  }

  void call_readable() {
    // Held here while it runs, since it may destroy or replace what holds it.
    Callback call = std::exchange(on_readable, nullptr);
    if (!call) {
      return;
    }
    call();
    if (descriptor.is_open() && !on_readable) {
      on_readable = std::move(call);
      wait_readable();
    }
  }

  asio::posix::stream_descriptor descriptor;
  Callback on_readable;
  Callback on_writable;
  Callback on_hang_up;
  bool reading = false;
  bool waiting = false;
};

FdEvents::FdEvents(Loop& loop, int fd) : state_(std::make_shared<State>(loop, fd)) {}

FdEvents::~FdEvents() {
  state_->reading = false;
  state_->on_readable = nullptr;
  state_->on_writable = nullptr;
  state_->on_hang_up = nullptr;
  state_->detach();
}

void FdEvents::on_readable(Callback call) {
  state_->on_readable = std::move(call);
  state_->reading = true;
  state_->wait_readable();
}

void FdEvents::pause_reading() {
  state_->reading = false;
}

void FdEvents::resume_reading() {
  if (!state_->reading) {
    state_->reading = true;
    state_->wait_readable();
  }
}

void FdEvents::once_writable(Callback call) {
  state_->on_writable = std::move(call);
  state_->descriptor.async_wait(asio::posix::descriptor_base::wait_write,
                                [self = state_](const error_code& error) {
                                  if (State::ready(error) && self->on_writable) {
                                    std::exchange(self->on_writable, nullptr)();
                                  }
                                });
}

void FdEvents::once_hung_up(Callback call) {
  state_->on_hang_up = std::move(call);
  state_->descriptor.async_wait(asio::posix::descriptor_base::wait_error,
                                [self = state_](const error_code& error) {
                                  if (!error && self->on_hang_up) {
                                    std::exchange(self->on_hang_up, nullptr)();
                                  }
                                });
}

}  // namespace clmcp
