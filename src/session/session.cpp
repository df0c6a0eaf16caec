#include "session/session.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/result.h"
#include "session/operation.h"
#include "session/output.h"
#include "worker/form.h"
#include "worker/worker.h"

namespace clmcp::session {
namespace {

constexpr std::array<std::string_view, 9> kStateNames = {
    "cold", "starting", "restoring", "idle", "busy", "stopping", "freezing", "resuming", "closed"};

constexpr std::string_view kFreshPackage = "COMMON-LISP-USER";

worker::Request restore_request(const std::vector<worker::SystemRef>& systems) {
  worker::Form::List list;
  for (const worker::SystemRef& system : systems) {
    worker::Form definition;
    if (system.definition) {
      definition.value = *system.definition;
    }
    list.push_back({worker::Form::List{{system.name}, std::move(definition)}});
  }
  return {.operation = "restore-systems",
          .arguments = {{worker::Keyword{"systems"}}, {std::move(list)}}};
}

/// The moment of a checkpoint, as seen from a death during `state`.
std::string_view before_or_after(SessionState state) {
  switch (state) {
    case SessionState::kBusy:
      return "before this call";
    case SessionState::kStopping:
      return "before that evaluation";
    default:
      return "after the last call";
  }
}

Outcome failure(std::string type, std::string message) {
  Outcome outcome;
  outcome.answer.condition =
      worker::Condition{.type = std::move(type), .message = std::move(message), .backtrace = {}};
  return outcome;
}

}  // namespace

Session::Session(std::string name, worker::WorkerSource& workers, Clock& clock, Log& log)
    : name_(std::move(name)), workers_(workers), clock_(clock), log_(log) {}

void Session::call(CallId id, Operation operation, Done done) {
  enqueue({.id = id, .operation = std::move(operation), .done = std::move(done)});
}

void Session::reset(CallId id, Done done) {
  enqueue({.id = id, .operation = std::nullopt, .done = std::move(done)});
}

void Session::enqueue(Call call) {
  if (state_ == SessionState::kClosed) {
    call.done(failure("SESSION-CLOSED", "The session is closed."));
    return;
  }
  if (queue_.size() >= limits::kQueuedCalls) {
    call.done(failure("SESSION-BUSY",
                      fmt::format("{} calls are waiting for this session already; try again when "
                                  "some of them have been answered.",
                                  queue_.size())));
    return;
  }
  queue_.push_back(std::move(call));
  advance();
}

void Session::cancel(CallId id) {
  const auto call = std::ranges::find(queue_, id, &Call::id);
  if (call == queue_.end()) {
    return;
  }
  const bool first = call == queue_.begin();
  if (first && state_ == SessionState::kBusy) {
    enter(SessionState::kStopping);
    worker_->interrupt();
    grace_ = clock_.after(limits::kInterruptGrace, [this] { worker_->kill(); });
    return;
  }
  if (first && state_ == SessionState::kStopping) {
    worker_->kill();  // Asked twice: whoever asks does not want to wait for the grace.
    return;
  }
  if (first && (!call->operation || state_ == SessionState::kResuming)) {
    return;  // A reset under way is completed, and so is the way back from a death.
  }
  Call taken_back = std::move(*call);
  queue_.erase(call);
  taken_back.done(failure("INTERRUPTED", "Taken back before it was started."));
}

void Session::close(const std::string& why) {
  enter(SessionState::kClosed);
  grace_.cancel();
  worker_.reset();
  checkpoint_.reset();
  while (!queue_.empty()) {
    fail("SESSION-CLOSED", why);
  }
}

void Session::enter(SessionState state) {
  log_.debug("session state", {{"session", name_},
                               {"from", kStateNames.at(static_cast<std::size_t>(state_))},
                               {"to", kStateNames.at(static_cast<std::size_t>(state))}});
  state_ = state;
}

/// Starts what can be started. A loop and not a recursion: thousands of calls may be answered
/// without waiting for anything.
void Session::advance() {
  if (std::exchange(advancing_, true)) {
    return;
  }
  while (!queue_.empty() && (state_ == SessionState::kCold || state_ == SessionState::kIdle)) {
    const Call& first = queue_.front();
    if (!first.operation) {
      begin_reset();
    } else if (state_ == SessionState::kCold) {
      start_worker();
    } else {
      enter(SessionState::kBusy);
      keep_output();
      worker_->request(first.operation->request());
    }
  }
  advancing_ = false;
}

void Session::start_worker() {
  enter(SessionState::kStarting);
  worker_ = workers_.start(*this);
}

/// A reset is a new Lisp: nothing that code can do to the old one survives, whatever it was.
void Session::begin_reset() {
  worker_.reset();
  checkpoint_.reset();
  package_ = kFreshPackage;
  notice_.reset();
  drop_output();  // That of the world that ends.
  if (systems_.empty()) {
    enter(SessionState::kCold);
    finish({});
  } else {
    start_worker();
  }
}

/// Has the worker leave a frozen copy of itself. Nobody waits for it but the next call, and the
/// answer to the last one has been given.
void Session::take_checkpoint() {
  enter(SessionState::kFreezing);
  worker_->freeze([this](Result<std::unique_ptr<worker::Frozen>> frozen) {
    if (frozen) {
      checkpoint_ = {.frozen = *std::move(frozen), .systems = systems_, .package = package_};
    } else if (checkpoint_) {
      checkpoint_->why_not_newer = frozen.error().message;
    }
    enter(SessionState::kIdle);
    advance();
  });
}

/// Lets the checkpoint take the place of the worker that died.
void Session::resume_checkpoint() {
  systems_ = checkpoint_->systems;
  package_ = checkpoint_->package;
  enter(SessionState::kResuming);
  worker_ = workers_.resume(std::move(checkpoint_->frozen), *this);
}

void Session::on_ready() {
  if (state_ == SessionState::kResuming) {
    tell_of_death(what_is_back());
    take_checkpoint();  // That one has become the worker.
    return;
  }
  if (systems_.empty()) {
    be_ready("");
    return;
  }
  enter(SessionState::kRestoring);
  worker_->request(restore_request(systems_));
}

/// The worker can serve. `remarks` says what could not be brought back.
void Session::be_ready(const std::string& remarks) {
  enter(SessionState::kIdle);
  if (!queue_.empty() && !queue_.front().operation) {
    Outcome outcome;
    outcome.answer.text = remarks;
    finish(std::move(outcome));
  } else if (!remarks.empty()) {
    notice_ = notice_ ? fmt::format("{}\n{}", *notice_, remarks) : remarks;
  }
  advance();
}

void Session::on_output(worker::Stream stream, std::string_view bytes) {
  (stream == worker::Stream::kOutput ? written_->output : written_->error_output).append(bytes);
}

void Session::on_answer(worker::Answer answer) {
  package_ = answer.package;
  if (answer.systems) {
    systems_ = *answer.systems;
  }
  if (state_ == SessionState::kRestoring) {
    drop_output();  // What systems print while they load was shown when they were first loaded.
    be_ready(answer.text.value_or(""));
    return;
  }
  grace_.cancel();
  enter(SessionState::kFreezing);  // So that nothing is started from inside finish().
  if (checkpoint_) {
    ++checkpoint_->calls_since;
  }
  Outcome outcome = collect();
  outcome.answer = std::move(answer);
  finish(std::move(outcome));
  take_checkpoint();
}

void Session::on_end(std::string how) {
  grace_.cancel();
  worker_.reset();
  log_.warning("worker ended", {{"session", name_}, {"how", how}});
  const SessionState before = state_;
  if (before != SessionState::kResuming) {
    death_ = {.how = std::move(how), .during = before};
    if (checkpoint_ && checkpoint_->frozen) {
      resume_checkpoint();
      return;
    }
  }
  checkpoint_.reset();
  package_ = kFreshPackage;
  enter(SessionState::kCold);
  tell_of_death(what_is_lost());
  advance();
}

/// Answers the call during which the worker died, or has the next one tell it.
void Session::tell_of_death(const std::string& consequence) {
  const std::string& how = death_.how;
  switch (death_.during) {
    case SessionState::kStarting:
      drop_output();  // Its last words are in `how` already.
      fail("LISP-UNAVAILABLE", how);
      break;
    case SessionState::kRestoring:
      systems_.clear();
      fail("LISP-PROCESS-ENDED",
           fmt::format("{} It was loading this session's systems again; they will not "
                       "be tried once more.",
                       how));
      break;
    case SessionState::kBusy:
      fail("LISP-PROCESS-ENDED", fmt::format("{} {}", how, consequence));
      break;
    case SessionState::kStopping:
      // The answer to a cancelled call is not sent, so the next call must tell it too.
      notice_ = fmt::format(
          "An evaluation did not stop when it was interrupted, so its Lisp process was ended. {}",
          consequence);
      fail("INTERRUPTED", *notice_);
      break;
    default:
      notice_ = fmt::format("{} This happened between two calls. {}", how, consequence);
      break;
  }
}

std::string Session::what_is_back() const {
  const std::string_view not_undone =
      "Files written, messages sent and programs started since are not undone.";
  if (checkpoint_->calls_since == 0) {
    return fmt::format("The session is back to its state {}. {}", before_or_after(death_.during),
                       not_undone);
  }
  return fmt::format(
      "The session is back to an older state, without the {} before this one, since there could be "
      "no newer checkpoint: {} {}",
      checkpoint_->calls_since == 1 ? "call" : fmt::format("{} calls", checkpoint_->calls_since),
      checkpoint_->why_not_newer, not_undone);
}

std::string Session::what_is_lost() const {
  return fmt::format("What this session had defined is lost; the next evaluation starts afresh{}.",
                     systems_.empty() ? "" : ", with the loaded systems loaded again");
}

void Session::finish(Outcome outcome) {
  Call call = std::move(queue_.front());
  queue_.pop_front();
  call.done(std::move(outcome));
}

void Session::fail(std::string type, std::string message) {
  Outcome outcome = failure(std::move(type), std::move(message));
  outcome.number = queue_.front().id;
  outcome.written = std::exchange(written_, std::make_shared<CallOutput>());
  finish(std::move(outcome));
}

/// Begins to keep what the first call writes, and what was written since the one before.
void Session::keep_output() {
  written_->call = queue_.front().id;
  kept_.push_back(written_);
  if (kept_.size() > limits::kCallsWithOutput) {
    kept_.pop_front();
  }
}

void Session::drop_output() {
  written_ = std::make_shared<CallOutput>();
}

std::shared_ptr<CallOutput> Session::output_of(std::optional<CallId> call) const {
  if (!call) {
    return kept_.empty() ? nullptr : kept_.back();
  }
  const auto found =
      std::ranges::find_if(kept_, [&](const auto& output) { return output->call == *call; });
  return found == kept_.end() ? nullptr : *found;
}

std::vector<CallId> Session::calls_with_output() const {
  std::vector<CallId> calls;
  calls.reserve(kept_.size());
  for (const auto& output : kept_) {
    calls.push_back(output->call);
  }
  return calls;
}

Outcome Session::collect() {
  Outcome outcome;
  outcome.number = queue_.front().id;
  outcome.written = std::exchange(written_, std::make_shared<CallOutput>());
  outcome.notice = std::exchange(notice_, std::nullopt);
  return outcome;
}

}  // namespace clmcp::session
