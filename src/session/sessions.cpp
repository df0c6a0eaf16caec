#include "session/sessions.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/result.h"
#include "session/journal.h"
#include "session/journal_files.h"
#include "session/session.h"
#include "session/settings.h"
#include "session/timeline.h"
#include "worker/worker.h"

namespace clmcp::session {
namespace {

constexpr std::string_view kDefault = "default";

std::unexpected<Error> refuse(ErrorCode code, std::string why) {
  return std::unexpected(Error{.code = code, .message = std::move(why)});
}

/// Names go into file names and are typed by models, so they are plain.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= limits::kNameBytes && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ||
                  c == '.';
         });
}

}  // namespace

Sessions::Sessions(worker::WorkerSource& workers, Clock& clock, Log& log, Settings settings,
                   std::optional<JournalPlace> journals)
    : around_{.workers = workers,
              .clock = clock,
              .log = log,
              .settings = settings,
              .journals = std::move(journals)} {
  around_.checkpoint_made = [this] {
    if (!std::exchange(trimming_due_, true)) {
      trimming_ = around_.clock.after(limits::kTrimming, [this] {
        trimming_due_ = false;
        trim_checkpoints();
      });
    }
  };
  sessions_.emplace(kDefault, std::make_shared<Session>(std::string(kDefault), around_));
}

void Sessions::resume_default(ResumedJournal journal) {
  sessions_[std::string(kDefault)] =
      std::make_shared<Session>(std::string(kDefault), around_, std::move(journal));
}

void Sessions::tell_default(std::string notice) {
  sessions_[std::string(kDefault)]->tell(std::move(notice));
}

Result<std::shared_ptr<Session>> Sessions::find(const std::optional<std::string>& name) const {
  const auto found = sessions_.find(name.value_or(std::string(kDefault)));
  if (found != sessions_.end()) {
    return found->second;
  }
  return refuse(ErrorCode::kNotFound,
                fmt::format("There is no session named '{}'. The tool sessions lists those there "
                            "are, and opens new ones.",
                            *name));
}

Result<void> Sessions::check(const std::optional<std::string>& name) const {
  if (name && !is_plain_name(*name)) {
    return refuse(ErrorCode::kInvalid,
                  fmt::format("A session's name is made of 1 to {} letters, digits, '-', '_' and "
                              "'.', and does not begin with '.'.",
                              limits::kNameBytes));
  }
  if (name && sessions_.contains(*name)) {
    return refuse(ErrorCode::kInvalid,
                  fmt::format("There is a session named '{}' already.", *name));
  }
  if (sessions_.size() >= around_.settings.sessions) {
    return refuse(ErrorCode::kUnavailable,
                  fmt::format("{} sessions are open, the most there may be: close one first, or "
                              "start the server with a larger --sessions.",
                              sessions_.size()));
  }
  return {};
}

Result<std::shared_ptr<Session>> Sessions::open(const std::optional<std::string>& name,
                                                std::optional<Step> origin) {
  TRY(check(name));
  std::string chosen = name.value_or("");
  while (chosen.empty() || sessions_.contains(chosen)) {
    chosen = fmt::format("session-{}", ++made_up_);
  }
  auto session = origin ? std::make_shared<Session>(chosen, around_, *std::move(origin))
                        : std::make_shared<Session>(chosen, around_);
  session->warm_up();
  sessions_.emplace(chosen, session);
  return session;
}

Result<void> Sessions::close(const std::string& name) {
  if (name == kDefault) {
    return refuse(ErrorCode::kInvalid,
                  "The session 'default' is always there; reset-session gives it a fresh Lisp.");
  }
  const std::shared_ptr<Session> session = TRY(find(name));
  sessions_.erase(name);
  session->close(fmt::format("The session '{}' was closed.", name));
  closed_.push_back(session);
  burial_ = around_.clock.after(Duration(0), [this] { closed_.clear(); });
  return {};
}

std::vector<std::shared_ptr<Session>> Sessions::all() const {
  std::vector<std::shared_ptr<Session>> sessions;
  sessions.reserve(sessions_.size());
  for (const auto& [name, session] : sessions_) {
    sessions.push_back(session);
  }
  return sessions;
}

void Sessions::close_all(const std::string& why) {
  trimming_.cancel();
  for (const auto& session : all()) {
    session->close(why);
  }
}

void Sessions::trim_checkpoints() {
  std::size_t memory = 0;
  for (const auto& [name, session] : sessions_) {
    memory += session->timeline().memory();
  }
  while (memory > around_.settings.checkpoint_memory) {
    const auto oldest = std::ranges::min_element(
        sessions_, {}, [](const auto& row) { return row.second->timeline().oldest_expendable(); });
    Session& session = *oldest->second;
    if (session.timeline().oldest_expendable() == TimePoint::max()) {
      return;  // What is left is needed, or has a name.
    }
    const std::size_t before = session.timeline().memory();
    session.drop_oldest_checkpoint(
        fmt::format("it was dropped, since checkpoints may take {} MB together "
                    "(--checkpoint-memory).",
                    around_.settings.checkpoint_memory / limits::kMiB));
    memory -= std::min(memory, before - std::min(before, session.timeline().memory()));
  }
}

}  // namespace clmcp::session
