#include "session/timeline.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/result.h"

namespace clmcp::session {
namespace {

std::unexpected<Error> impossible(std::string why) {
  return std::unexpected(Error{.code = ErrorCode::kNotFound, .message = std::move(why)});
}

std::string plural(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "call" : "calls");
}

}  // namespace

std::shared_ptr<Snapshot> pristine() {
  return std::make_shared<Snapshot>(
      Snapshot{.pristine = true, .package = std::string(kFreshPackage)});
}

void Timeline::add(Step step) {
  steps_.push_back(std::move(step));
  // Whatever the depth, what comes after the last safe state is needed to get back from there.
  const auto has_newer = [this] {
    return std::any_of(steps_.begin() + 1, steps_.end(), std::mem_fn(&Step::is_kept));
  };
  while (steps_.size() > depth_ + 1 && has_newer()) {
    steps_.pop_front();
  }
  if (steps_.size() > limits::kUnsafeSteps) {
    steps_.erase(steps_.begin() + 1);
  }
}

Result<Step> Timeline::before(std::size_t calls) const {
  if (calls >= steps_.size()) {
    const std::size_t possible = steps_.empty() ? 0 : steps_.size() - 1;
    return impossible(possible == 0 ? "There is nothing to undo in this session."
                                    : fmt::format("Only {} can be undone.", plural(possible)));
  }
  const Step& step = steps_[steps_.size() - 1 - calls];
  if (!step.usable()) {
    return impossible(fmt::format("There is no checkpoint of the state after call {}: {}",
                                  step.after,
                                  step.why_none.empty() ? "it is gone." : step.why_none));
  }
  return step;
}

std::size_t Timeline::unsafe_steps() const {
  std::size_t count = 0;
  while (count < steps_.size() && !steps_[steps_.size() - 1 - count].usable()) {
    ++count;
  }
  return count;
}

void Timeline::forget(std::size_t steps) {
  while (steps-- > 0) {
    steps_.pop_back();
  }
}

void Timeline::name(const std::string& name) {
  names_[name] = steps_.back();
}

const Step* Timeline::named(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

bool Timeline::drop(const std::string& name) {
  return names_.erase(name) > 0;
}

std::size_t Timeline::memory() const {
  std::set<const Snapshot*> snapshots;
  for (const Step& step : steps_) {
    snapshots.insert(step.snapshot.get());
  }
  for (const auto& [name, step] : names_) {
    snapshots.insert(step.snapshot.get());
  }
  std::size_t sum = 0;
  for (const Snapshot* snapshot : snapshots) {
    sum += snapshot != nullptr && snapshot->frozen ? snapshot->frozen->memory() : 0;
  }
  return sum;
}

bool Timeline::has_name(const Snapshot* snapshot) const {
  return std::ranges::any_of(
      names_, [&](const auto& row) { return row.second.snapshot.get() == snapshot; });
}

bool Timeline::is_expendable(std::size_t index) const {
  const Step& step = steps_[index];
  return step.usable() && step.snapshot->frozen && !has_name(step.snapshot.get()) &&
         index + unsafe_steps() + 1 < steps_.size();
}

TimePoint Timeline::oldest_expendable() const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (is_expendable(i)) {
      return steps_[i].when;
    }
  }
  return TimePoint::max();
}

void Timeline::drop_oldest_expendable(const std::string& why) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (is_expendable(i)) {
      steps_[i].snapshot.reset();
      steps_[i].why_none = why;
      return;
    }
  }
}

void Timeline::clear() {
  steps_.clear();
  names_.clear();
}

std::string one_line(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    if (line.size() > kMost) {
      break;
    }
  }
  if (line.size() > kMost) {
    line.resize(kMost - 3);
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80) {
      line.pop_back();  // Half a character; its first byte goes with it below.
    }
    line += "...";
  }
  while (!line.empty() && line.back() == ' ') {
    line.pop_back();
  }
  return line;
}

}  // namespace clmcp::session
