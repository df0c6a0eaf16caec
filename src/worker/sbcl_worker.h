#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/loop.h"
#include "worker/guardian.h"
#include "worker/image.h"
#include "worker/reaper.h"
#include "worker/worker.h"

namespace clmcp::worker {

/// Starts real SBCL processes from a worker image.
class SbclSource final : public WorkerSource {
 public:
  SbclSource(Loop& loop, Reaper& reaper, ImageFinder& images)
      : loop_(loop), reaper_(reaper), images_(images) {}

  [[nodiscard]] std::unique_ptr<Worker> start(WorkerEvents& events) override;
  [[nodiscard]] std::unique_ptr<Worker> resume(std::unique_ptr<Frozen> frozen,
                                               WorkerEvents& events) override;

 private:
  Loop& loop_;
  Reaper& reaper_;
  ImageFinder& images_;
  std::optional<Guardian> guardian_;  // Started with the first worker.
};

}  // namespace clmcp::worker
