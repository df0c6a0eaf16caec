#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "session/timeline.h"
#include "worker/worker.h"

namespace clmcp::session {

/// Definitions that are done again, one by one, since no checkpoint knows them; and what came of
/// it.
class Replay {
 public:
  /// Takes in what a call defined. What else it did is remembered as not replayed.
  void add(const Step& step);

  [[nodiscard]] bool empty() const { return todo_.empty() && not_replayed_.empty(); }

  /// Whether there is something left to do.
  [[nodiscard]] bool pending() const { return next_ < todo_.size(); }

  [[nodiscard]] const worker::Definition& next() const { return todo_[next_]; }

  void succeeded() { ++next_; }

  /// The next one cannot be done, and will not be tried again.
  void failed(const std::string& why);

  /// The Lisp it was done in is gone: begin again, without what failed.
  void restart() { next_ = 0; }

  /// What was done so far.
  [[nodiscard]] std::vector<worker::Definition> done() const {
    return {todo_.begin(), todo_.begin() + static_cast<std::ptrdiff_t>(next_)};
  }

  /// What was replayed and what was not, in a few sentences.
  [[nodiscard]] std::string report() const;

 private:
  std::vector<worker::Definition> todo_;
  std::size_t next_ = 0;
  std::vector<std::string> failed_;
  std::vector<std::string> not_replayed_;
};

/// What there is in `code` beside the definitions, which stand in it in this order.
[[nodiscard]] std::string beside_definitions(std::string_view code,
                                             const std::vector<worker::Definition>& definitions);

}  // namespace clmcp::session
