#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "session/journal.h"
#include "session/journal_files.h"
#include "session/session.h"
#include "session/settings.h"
#include "session/timeline.h"
#include "worker/worker.h"

namespace clmcp::session {

/// The sessions by name. The one named `default` is always there.
class Sessions {
 public:
  Sessions(worker::WorkerSource& workers, Clock& clock, Log& log, Settings settings = {},
           std::optional<JournalPlace> journals = {});

  /// Has the default session go on with a journal, before it was used.
  void resume_default(ResumedJournal journal);

  /// Has its next reply say something.
  void tell_default(std::string notice);

  /// The session of that name; the one named `default` where there is no name.
  [[nodiscard]] Result<std::shared_ptr<Session>> find(const std::optional<std::string>& name) const;

  /// Makes a new session, as a copy where an origin is given; its worker starts at once. The name
  /// is made up where there is none.
  [[nodiscard]] Result<std::shared_ptr<Session>> open(const std::optional<std::string>& name,
                                                      std::optional<Step> origin = {});

  /// Whether a session of that name could be opened now.
  [[nodiscard]] Result<void> check(const std::optional<std::string>& name) const;

  /// Ends a session with all its state.
  [[nodiscard]] Result<void> close(const std::string& name);

  /// All of them, by name.
  [[nodiscard]] std::vector<std::shared_ptr<Session>> all() const;

  /// Answers every call of every session with `why` and ends their workers.
  void close_all(const std::string& why);

  /// Keeps the memory of all checkpoints together within its limit. Done by itself a moment after
  /// one was made.
  void trim_checkpoints();

  [[nodiscard]] const Settings& settings() const { return around_.settings; }

 private:
  Surroundings around_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<Session>> closed_;  // They may be in the middle of answering.
  std::size_t made_up_ = 1;
  Timer trimming_;
  bool trimming_due_ = false;
  Timer burial_;
};

}  // namespace clmcp::session
