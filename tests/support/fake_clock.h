#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace clmcp::testing {

/// Time that passes only when the test says so.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }

  [[nodiscard]] Timer after(Duration delay, Callback call) override {
    auto pending = std::make_shared<Callback>(std::move(call));
    pending_.emplace(now_ + delay, pending);
    return Timer([weak = std::weak_ptr(pending)] {
      if (auto alive = weak.lock()) {
        *alive = nullptr;
      }
    });
  }

  void advance(Duration by) {
    now_ += by;
    while (!pending_.empty() && pending_.begin()->first <= now_) {
      auto due = std::move(pending_.extract(pending_.begin()).mapped());
      if (*due) {
        Callback call = std::exchange(*due, nullptr);
        call();
      }
    }
  }

 private:
  TimePoint now_;
  std::multimap<TimePoint, std::shared_ptr<Callback>> pending_;
};

}  // namespace clmcp::testing
