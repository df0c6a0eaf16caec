#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "base/interface.h"

namespace clmcp {

using Callback = std::move_only_function<void()>;
using Duration = std::chrono::milliseconds;
using TimePoint = std::chrono::steady_clock::time_point;

/// A call that was asked for and has not come yet. Destroying it calls it off.
class Timer {
 public:
  Timer() = default;

  explicit Timer(Callback call_off) : call_off_(std::move(call_off)) {}

  ~Timer() { cancel(); }

  Timer(Timer&& other) noexcept : call_off_(std::exchange(other.call_off_, nullptr)) {}

  Timer& operator=(Timer&& other) noexcept {
    if (this != &other) {
      cancel();
      call_off_ = std::exchange(other.call_off_, nullptr);
    }
    return *this;
  }

  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void cancel() {
    if (call_off_) {
      std::exchange(call_off_, nullptr)();
    }
  }

 private:
  Callback call_off_;
};

/// Time, so that tests can turn it: the Loop is the real one.
class Clock : public Interface {
 public:
  [[nodiscard]] virtual TimePoint now() const = 0;
  [[nodiscard]] virtual Timer after(Duration delay, Callback call) = 0;
};

}  // namespace clmcp
