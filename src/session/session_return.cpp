// How a session goes back to a state it was in: after a death, for an undo, after a dry run.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/result.h"
#include "session/journal.h"
#include "session/operation.h"
#include "session/replay.h"
#include "session/session.h"
#include "session/timeline.h"
#include "session/words.h"
#include "worker/worker.h"

namespace clmcp::session {

/// Lets a checkpoint take the place of the worker.
void Session::go_to(std::shared_ptr<Snapshot> snapshot, Return why) {
  worker_.reset();
  target_ = std::move(snapshot);
  returning_ = why;
  systems_ = target_->systems;
  package_ = target_->package;
  target_->awake = !target_->pristine;
  enter(SessionState::kResuming);
  worker_ = target_->pristine ? around_.workers.start(*this)
                              : around_.workers.resume(std::move(target_->frozen), *this);
}

/// The checkpoint is the worker now. What it does not know is done again, from a new checkpoint of
/// it, since a definition may kill it. Even with nothing to be done again there is a new step, and
/// the state before it must be there to come back to.
void Session::arrive() {
  if (replay_.empty()) {
    conclude_return();
    return;
  }
  if (target_->pristine) {
    replay_next();
    return;
  }
  worker_->freeze([this](Result<std::unique_ptr<worker::Frozen>> frozen) {
    target_->awake = false;
    if (frozen) {
      target_->frozen = *std::move(frozen);
    }
    replay_next();
  });
}

void Session::conclude_return() {
  if (returning_ == Return::kJournal) {
    conclude_start(replay_.report());
    return;
  }
  if (returning_ == Return::kBack) {
    answer_return(queue_.front());
  } else if (returning_ == Return::kDeath) {
    const std::string consequence = what_is_back();
    const Replay replay = std::exchange(replay_, {});
    const CallId last = timeline_.now().after;
    timeline_.forget(std::exchange(lost_, 0));
    tell_of_death(consequence);
    if (!replay.empty()) {
      journal_.went_back_to(timeline_.now().after);
      Step step = {.after = last,
                   .what = "replayed definitions",
                   .when = around_.clock.now(),
                   .definitions = replay.done()};
      write_down({.number = step.after,
                  .kind = "replay",
                  .definitions = step.definitions,
                  .systems = systems_});
      timeline_.add(std::move(step));
      take_checkpoint();
      return;
    }
  }
  freeze_again();
}

/// Answers the call that wanted to go back.
void Session::answer_return(const Call& call) {
  std::string text;
  if (const Undo* undo = std::get_if<Undo>(&call.task)) {
    const std::string undone =
        undo->calls == 1 ? timeline_.now().what : fmt::format("the last {} calls", undo->calls);
    timeline_.forget(undo->calls);
    journal_.went_back_to(timeline_.now().after);
    text = fmt::format("Undone: {}\nThe session is as it was after {}. {}", undone,
                       step_text(timeline_.now()), kNotUndone);
  } else if (const Restore* restore = std::get_if<Restore>(&call.task)) {
    Step step = *timeline_.named(restore->name);
    text = fmt::format("Restored checkpoint '{}': the session is as it was after {}. {}",
                       restore->name, step_text(step), kNotUndone);
    step.when = around_.clock.now();
    journal_.went_back_to(step.after);
    timeline_.add(std::move(step));
  } else {
    journal_.went_back_to(0);
    write_down({.number = call.id, .kind = "reset-session", .systems = systems_});
    timeline_.add({.after = call.id,
                   .what = "reset-session",
                   .when = around_.clock.now(),
                   .snapshot = target_});
    text = reset_text("");
  }
  answer_text(std::move(text));
}

/// What has become the worker must be there to come back to.
void Session::freeze_again() {
  if (target_->pristine) {
    enter(SessionState::kIdle);
    advance();
    return;
  }
  enter(SessionState::kFreezing);
  worker_->freeze([this](Result<std::unique_ptr<worker::Frozen>> frozen) {
    target_->awake = false;
    if (frozen) {
      target_->frozen = *std::move(frozen);
    } else {
      timeline_.now().why_none = frozen.error().message;
    }
    enter(SessionState::kIdle);
    advance();
  });
}

void Session::on_end(std::string how) {
  grace_.cancel();
  worker_.reset();
  if (target_) {
    target_->awake = false;
  }
  around_.log.warning("worker ended", {{"session", name_}, {"how", how}});
  switch (state_) {
    case SessionState::kStarting:
    case SessionState::kRestoring:
      death_ = {.how = std::move(how), .during = state_};
      enter(SessionState::kCold);
      tell_of_death("");
      advance();
      return;
    case SessionState::kReplaying:
      replay_again(how);
      return;
    case SessionState::kResuming:
      if (returning_ == Return::kBack) {
        fail("NO-CHECKPOINT", fmt::format("That checkpoint cannot be used any more: {}", how));
      }
      if (returning_ != Return::kDeath) {
        death_ = {.how = std::move(how), .during = SessionState::kResuming};
      }
      if (target_->pristine) {
        lose_everything();  // Not even a fresh one can be had.
      } else {
        fall_back();
      }
      return;
    default:
      death_ = {.how = std::move(how), .during = state_};
      fall_back();
  }
}

/// Goes to the newest state there is a way to, and makes again what was defined since.
void Session::fall_back() {
  lost_ = timeline_.unsafe_steps();
  const auto& steps = timeline_.steps();
  if (lost_ == steps.size()) {
    lose_everything();
    return;
  }
  replay_ = {};
  const std::size_t safe = steps.size() - 1 - lost_;
  for (std::size_t i = safe + 1; i < steps.size(); ++i) {
    replay_.add(steps[i]);
    why_replay_ = steps[i].why_none.empty() ? "it was lost." : steps[i].why_none;
  }
  go_to(steps[safe].snapshot, Return::kDeath);
}

void Session::lose_everything() {
  timeline_.clear();
  package_ = kFreshPackage;
  replay_ = {};
  origin_ = 0;
  journal_.went_back_to(0);
  enter(SessionState::kCold);
  tell_of_death(what_is_lost());
  advance();
}

void Session::replay_next() {
  if (!replay_.pending()) {
    conclude_return();
    return;
  }
  enter(SessionState::kReplaying);
  const worker::Definition& definition = replay_.next();
  Operation operation("evaluate");
  operation.add("code", definition.text);
  operation.add("package", definition.package);
  grace_ = around_.clock.after(limits::kReplayStep, [this] { worker_->kill(); });
  worker_->request(operation.request());
}

void Session::replayed(const worker::Answer& answer) {
  if (answer.condition) {
    replay_.failed(answer.condition->type);
  } else {
    package_ = answer.package;
    systems_ = answer.systems.value_or(systems_);
    replay_.succeeded();
  }
  replay_next();
}

void Session::replay_again(const std::string& how) {
  replay_.failed(how);
  replay_.restart();
  if (returning_ == Return::kJournal) {
    start_worker();
  } else if (target_->usable()) {
    go_to(target_, Return::kDeath);
  } else {
    fall_back();
  }
}

}  // namespace clmcp::session
