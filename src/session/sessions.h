#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "session/session.h"
#include "worker/worker.h"

namespace clmcp::session {

/// The sessions by name. For now there is one.
class Sessions {
 public:
  Sessions(worker::WorkerSource& workers, Clock& clock, Log& log)
      : default_("default", workers, clock, log) {}

  /// The session of that name; the one named `default` where there is no name.
  [[nodiscard]] Result<Session*> find(const std::optional<std::string>& name);

  /// Answers every call of every session with `why` and ends their workers.
  void close(const std::string& why) { default_.close(why); }

 private:
  Session default_;
};

}  // namespace clmcp::session
