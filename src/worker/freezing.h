#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/child.h"
#include "worker/frame.h"
#include "worker/reaper.h"
#include "worker/worker.h"

namespace clmcp::worker {

/// A frozen copy of an SBCL: its process, and the socket on which it waits.
struct FrozenSbcl final : Frozen {
  FrozenSbcl(Child copy, Fd socket) : child(std::move(copy)), link(std::move(socket)) {}

  [[nodiscard]] std::size_t memory() const override { return child.memory(); }

  Child child;
  Fd link;
};

/// The making of a frozen copy: it is there when both it and the original have said so.
class Freezing {
 public:
  using Done = std::move_only_function<void(Result<std::unique_ptr<FrozenSbcl>>)>;

  /// Listens to the copy of the process with `token` on `link`, and calls `done` once, later, which
  /// may destroy this.
  Freezing(Loop& loop, Reaper& reaper, std::string token, Fd link, Done done);

  /// The original's word on its copy.
  void original_says(const Answer& answer);

 private:
  void hear_from_copy();
  void conclude_if_both_spoke();

  Reaper& reaper_;
  Reaper::Patience patience_;  // The copy comes to us before we know its number.
  Fd link_;
  Done done_;
  FrameReader frames_;
  std::optional<Result<Child>> copy_;     // What became of the copy,
  std::optional<Result<void>> original_;  // and what the original said.
  FdEvents events_;
};

}  // namespace clmcp::worker
