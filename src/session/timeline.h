#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "worker/worker.h"

namespace clmcp::session {

/// A call's number within its session.
using CallId = std::uint64_t;

/// What a session was at some moment, with the frozen process that can be it again.
struct Snapshot {
  std::unique_ptr<worker::Frozen> frozen =
      {};                 // Empty while it is the worker, and when it is lost.
  bool pristine = false;  // A new worker is all it takes.
  std::vector<worker::SystemRef> systems = {};
  std::string package = {};
  bool awake = false;  // It has become the worker, and a new copy of it is on its way.

  [[nodiscard]] bool usable() const { return pristine || frozen != nullptr; }
};

/// The package that a fresh Lisp is in.
constexpr std::string_view kFreshPackage = "COMMON-LISP-USER";

/// A fresh Lisp.
[[nodiscard]] std::shared_ptr<Snapshot> pristine();

/// The session after one of its calls.
struct Step {
  CallId after = 0;       // 0: before all calls
  std::string what = {};  // that call, on one line
  TimePoint when = {};
  std::vector<worker::Definition> definitions = {};  // What it defined, to be done again at need.
  std::string rest = {};                             // What else it did, on one line.
  std::shared_ptr<Snapshot> snapshot = {};           // Shared with the names given to it.
  std::string why_none = {};                         // Where there is no snapshot.

  [[nodiscard]] bool usable() const { return snapshot && snapshot->usable(); }

  /// As usable, or about to be so again.
  [[nodiscard]] bool is_kept() const { return usable() || (snapshot && snapshot->awake); }
};

/// The states a session can go back to: those after its latest calls, and those with a name. The
/// last step is the state it is in.
class Timeline {
 public:
  /// `depth`: how many calls can be undone.
  explicit Timeline(std::size_t depth) : depth_(depth) {}

  void add(Step step);

  [[nodiscard]] bool empty() const { return steps_.empty(); }

  [[nodiscard]] Step& now() { return steps_.back(); }

  [[nodiscard]] const Step& now() const { return steps_.back(); }

  [[nodiscard]] const std::deque<Step>& steps() const { return steps_; }

  /// Whether the present state can be come back to.
  [[nodiscard]] bool is_safe() const { return !steps_.empty() && steps_.back().usable(); }

  /// The state `calls` calls ago, or why there is no way to it.
  [[nodiscard]] Result<Step> before(std::size_t calls) const;

  /// Number of the newest steps that cannot be come back to; all of them where none can.
  [[nodiscard]] std::size_t unsafe_steps() const;

  /// Forgets the newest steps.
  void forget(std::size_t steps);

  /// Gives the present state a name; the state that had it goes.
  void name(const std::string& name);
  [[nodiscard]] const Step* named(const std::string& name) const;
  bool drop(const std::string& name);

  [[nodiscard]] const std::map<std::string, Step>& names() const { return names_; }

  /// Memory of all frozen processes, in bytes.
  [[nodiscard]] std::size_t memory() const;

  /// When the oldest frozen process was made that memory may be taken back from: one without a
  /// name, and not the newest. The far future where there is none.
  [[nodiscard]] TimePoint oldest_expendable() const;
  void drop_oldest_expendable(const std::string& why);

  void clear();

 private:
  [[nodiscard]] bool is_expendable(std::size_t index) const;
  [[nodiscard]] bool has_name(const Snapshot* snapshot) const;

  std::size_t depth_;
  std::deque<Step> steps_;
  std::map<std::string, Step> names_;
};

/// `text` on one line, and a short one: to remind people of a call.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace clmcp::session
