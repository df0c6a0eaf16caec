#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/loop.h"
#include "worker/guardian.h"
#include "worker/image.h"
#include "worker/reaper.h"
#include "worker/template.h"
#include "worker/worker.h"

namespace clmcp::worker {

/// What fits this machine, by limits::kHeapPartOfMemory.
[[nodiscard]] std::size_t default_heap_megabytes();

struct SbclSettings {
  /// Heap of each Lisp; with 0 that which its image was made with.
  std::size_t heap_megabytes = default_heap_megabytes();
  /// With more than this in use there are no checkpoints; with 0 there always are.
  std::size_t checkpoint_heap_megabytes = limits::kCheckpointHeapMegabytes;
};

/// Makes real SBCL processes: one, the template, is started from a worker image, and the workers
/// are copies of it.
class SbclSource final : public WorkerSource {
 public:
  SbclSource(Loop& loop, Reaper& reaper, ImageFinder& images, SbclSettings settings = {});

  [[nodiscard]] std::unique_ptr<Worker> start(WorkerEvents& events) override;
  [[nodiscard]] std::unique_ptr<Worker> resume(std::unique_ptr<Frozen> frozen,
                                               WorkerEvents& events) override;

  /// Starts the image itself, as the template is.
  [[nodiscard]] std::unique_ptr<Worker> start_image(WorkerEvents& events);

 private:
  [[nodiscard]] std::string token(std::uint64_t life) const;

  Loop& loop_;
  Reaper& reaper_;
  ImageFinder& images_;
  SbclSettings settings_;
  std::optional<Guardian> guardian_;  // Started with the first worker.
  std::uint64_t lives_ = 0;           // Workers so far.
  Template template_;
};

}  // namespace clmcp::worker
