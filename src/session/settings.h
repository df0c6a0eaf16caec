#pragma once

#include <cstddef>

#include "base/clock.h"
#include "base/limits.h"

namespace clmcp::session {

/// The limits on what sessions hold and how long they wait that the command line can change.
struct Settings {
  Duration grace = limits::kInterruptGrace;
  std::size_t queued_calls = limits::kQueuedCalls;
  std::size_t undo_depth = limits::kUndoDepth;
  std::size_t named_checkpoints = limits::kNamedCheckpoints;
  std::size_t checkpoint_memory = limits::kCheckpointMemory;  ///< bytes, of all sessions together
  std::size_t kept_output = limits::kKeptOutputBytes;         ///< bytes, of one session
  std::size_t sessions = limits::kSessions;
  std::size_t journal = limits::kJournalBytes;  ///< bytes, of one session
};

}  // namespace clmcp::session
