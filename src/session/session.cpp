#include "session/session.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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
#include "session/journal_text.h"
#include "session/operation.h"
#include "session/output.h"
#include "session/preparation.h"
#include "session/replay.h"
#include "session/timeline.h"
#include "session/words.h"
#include "worker/form.h"
#include "worker/worker.h"

namespace clmcp::session {
namespace {

constexpr std::array<std::string_view, 10> kStateNames = {
    "cold", "starting", "restoring", "replaying", "idle",
    "busy", "stopping", "freezing",  "resuming",  "closed"};

bool same_systems(const std::vector<worker::SystemRef>& a,
                  const std::vector<worker::SystemRef>& b) {
  return std::ranges::equal(a, b, {}, &worker::SystemRef::name, &worker::SystemRef::name);
}

std::vector<worker::Definition> all_definitions(const History& history) {
  std::vector<worker::Definition> all;
  for (const JournalEntry& entry : history.live) {
    all.insert(all.end(), entry.definitions.begin(), entry.definitions.end());
  }
  return all;
}

/// A call that changed the session, on one line.
std::string title(std::string_view tool, std::string_view text) {
  return tool == "evaluate-lisp" ? one_line(text) : fmt::format("{} {}", tool, one_line(text));
}

/// What such a call did beside defining, on one line.
std::string other_deeds(std::string_view tool, std::string_view text,
                        const std::vector<worker::Definition>& definitions) {
  return definitions.empty() ? title(tool, text) : one_line(beside_definitions(text, definitions));
}

/// The session after a call, as far as it is known before there is a checkpoint of it.
Step step_of(CallId id, const Subject& subject, const worker::Answer& answer, TimePoint now) {
  Step step = {.after = id,
               .what = title(subject.tool, subject.text),
               .when = now,
               .definitions = answer.definitions,
               .rest = other_deeds(subject.tool, subject.text, answer.definitions)};
  if (subject.tool == "load-system" && !answer.condition) {
    const worker::Form name = {subject.text};
    step.definitions = {{.text = fmt::format("(asdf:load-system {})", worker::print_form(name)),
                         .package = std::string(kFreshPackage)}};
    step.rest.clear();
  }
  return step;
}

}  // namespace

Session::Session(std::string name, Surroundings& surroundings)
    : name_(std::move(name)),
      around_(surroundings),
      timeline_(surroundings.settings.undo_depth),
      package_(kFreshPackage) {
  if (around_.journals) {
    journal_ = Journal(*around_.journals, name_, around_.settings.journal);
  }
}

Session::Session(std::string name, Surroundings& surroundings, Step origin)
    : Session(std::move(name), surroundings) {
  std::shared_ptr<Snapshot> snapshot = origin.snapshot;
  origin.after = new_call();
  write_down({.number = origin.after,
              .kind = "fork",
              .outcome = origin.what,
              .definitions = origin.definitions,
              .systems = snapshot->systems});
  timeline_.add(std::move(origin));
  go_to(std::move(snapshot), Return::kCopy);
}

Session::Session(std::string name, Surroundings& surroundings, ResumedJournal resumed)
    : Session(std::move(name), surroundings) {
  journal_ = std::move(resumed.journal);
  last_id_ = resumed.history.last_number;
  origin_ = resumed.history.tip;
  systems_ = resumed.history.systems;
  for (const JournalEntry& entry : resumed.history.live) {
    // Systems are loaded by themselves.
    if (!entry.definitions.empty() || entry.kind == "evaluate-lisp") {
      replay_.add({.definitions = entry.definitions,
                   .rest = other_deeds(entry.kind, entry.code, entry.definitions)});
    }
  }
  notice_ = fmt::format("Resumed the session '{}' as it was at {}.", resumed.history.owner.session,
                        resumed.history.time);
  if (resumed.history.remark) {
    *notice_ += " " + *resumed.history.remark;
  }
}

void Session::warm_up() {
  if (state_ == SessionState::kCold) {
    start_worker();
  }
}

// Calls

void Session::call(CallId id, Operation operation, Terms terms, Done done) {
  enqueue(id, std::move(operation), std::move(terms), std::move(done));
}

void Session::reset(CallId id, Terms terms, Done done) {
  enqueue(id, Reset{}, std::move(terms), std::move(done));
}

void Session::undo(CallId id, std::size_t calls, Terms terms, Done done) {
  enqueue(id, Undo{calls}, std::move(terms), std::move(done));
}

void Session::save(CallId id, std::string name, Terms terms, Done done) {
  enqueue(id, Save{std::move(name)}, std::move(terms), std::move(done));
}

void Session::restore(CallId id, std::string name, Terms terms, Done done) {
  enqueue(id, Restore{std::move(name)}, std::move(terms), std::move(done));
}

void Session::fork(CallId id, Take take, Terms terms, Done done) {
  enqueue(id, Fork{std::move(take)}, std::move(terms), std::move(done));
}

void Session::enqueue(CallId id, Task task, Terms terms, Done done) {
  if (state_ == SessionState::kClosed) {
    done(failure("SESSION-CLOSED", "The session is closed."));
    return;
  }
  if (queue_.size() >= around_.settings.queued_calls) {
    done(failure("SESSION-BUSY",
                 fmt::format("{} calls are waiting for this session already; try again when some "
                             "of them have been answered.",
                             queue_.size())));
    return;
  }
  queue_.push_back({.id = id,
                    .task = std::move(task),
                    .timeout = terms.timeout,
                    .keep = terms.keep,
                    .since = around_.clock.now(),
                    .written = std::make_shared<CallOutput>(id, around_.settings.kept_output)});
  (void)attend(queue_.back(), std::move(terms), std::move(done));
  quiet_.cancel();
  advance();
}

/// Has somebody wait for a call's answer, but not for ever.
std::uint64_t Session::attend(Call& call, Terms terms, Done done) {
  const std::uint64_t ticket = ++last_ticket_;
  call.waiters.push_back(
      {.ticket = ticket, .done = std::move(done), .progress = std::move(terms.progress)});
  if (terms.wait) {
    call.waiters.back().patience =
        around_.clock.after(*terms.wait, [this, ticket] { lose_patience(ticket); });
  }
  return ticket;
}

/// Who has waited long enough gets what there is so far; the work goes on.
void Session::lose_patience(std::uint64_t ticket) {
  for (Call& call : queue_) {
    const auto found = std::ranges::find(call.waiters, ticket, &Waiter::ticket);
    if (found == call.waiters.end()) {
      continue;
    }
    Waiter waiter = std::move(*found);
    call.waiters.erase(found);
    Outcome outcome;
    fill_in(outcome, call);
    call.output_shown = call.written->output.size();
    call.error_output_shown = call.written->error_output.size();
    outcome.pending = pending(call);
    waiter.done(std::move(outcome));
    return;
  }
}

std::uint64_t Session::wait_for(std::optional<CallId> job, Terms terms, Done done) {
  if (!job && !unread_.empty()) {
    job = unread_.begin()->first;
  } else if (!job && !queue_.empty()) {
    job = queue_.front().id;
  }
  if (const auto finished = unread_.find(job.value_or(0)); finished != unread_.end()) {
    Outcome outcome = std::move(finished->second);
    unread_.erase(finished);
    done(std::move(outcome));
    return 0;
  }
  if (Call* call = find(job.value_or(0))) {
    return attend(*call, std::move(terms), std::move(done));
  }
  done(failure("NO-SUCH-JOB",
               job ? fmt::format("There is no job {} in this session: it was answered, or never "
                                 "was, or is older than the {} finished jobs whose answers are "
                                 "kept. read-output shows what recent calls wrote.",
                                 *job, limits::kUnreadJobs)
                   : "Nothing is running in this session, and no finished job waits to be read."));
  return 0;
}

void Session::stop_waiting(std::uint64_t ticket) {
  for (Call& call : queue_) {
    std::erase_if(call.waiters, [&](const Waiter& waiter) { return waiter.ticket == ticket; });
  }
}

void Session::interrupt(std::optional<CallId> job, Done done) {
  if (!job && !queue_.empty()) {
    job = queue_.front().id;
  }
  Call* call = find(job.value_or(0));
  if (call == nullptr) {
    (void)wait_for(job, {}, std::move(done));  // It is finished, or there is none.
    return;
  }
  (void)attend(*call, {}, std::move(done));
  if (is_running(*call)) {
    stop(StopReason::kInterrupted);
  } else {
    take_back(*call);
  }
}

void Session::cancel(CallId id) {
  Call* call = find(id);
  if (call == nullptr) {
    return;
  }
  if (!is_running(*call)) {
    take_back(*call);
  } else if (state_ == SessionState::kStopping) {
    worker_->kill();  // Asked twice: whoever asks does not want to wait for the grace.
  } else {
    stop(StopReason::kCancelled);
  }
}

bool Session::is_running(const Call& call) const {
  return &call == &queue_.front() &&
         (state_ == SessionState::kBusy || state_ == SessionState::kStopping);
}

/// The first rung of the ladder. The second one is taken when this one did not help.
void Session::stop(StopReason reason) {
  if (state_ == SessionState::kStopping) {
    return;
  }
  stop_reason_ = reason;
  where_it_was_.clear();
  enter(SessionState::kStopping);
  worker_->interrupt();
  grace_ = around_.clock.after(around_.settings.grace, [this] { worker_->kill(); });
}

/// Takes a call out of the queue that does not run. The first one may be what the session is
/// getting ready for, or going back because of: it goes when its turn has come.
void Session::take_back(Call& call) {
  if (&call == &queue_.front() && state_ != SessionState::kIdle && state_ != SessionState::kCold) {
    call.taken_back = true;
    if (state_ == SessionState::kRestoring) {
      worker_->interrupt();  // A system that never ends loading must not hold the session.
    }
    return;
  }
  Outcome outcome = failure("INTERRUPTED", "Taken back before it was started.");
  fill_in(outcome, call);
  std::vector<Waiter> waiters = std::move(call.waiters);
  std::erase_if(queue_, [id = call.id](const Call& other) { return other.id == id; });
  for (Waiter& waiter : waiters) {
    waiter.done(outcome);
  }
}

Session::Call* Session::find(CallId id) {
  const auto call = std::ranges::find(queue_, id, &Call::id);
  return call == queue_.end() ? nullptr : &*call;
}

void Session::close(const std::string& why) {
  enter(SessionState::kClosed);
  grace_.cancel();
  quiet_.cancel();
  preparation_.reset();
  worker_.reset();
  prepared_.reset();
  target_.reset();
  timeline_.clear();
  unread_.clear();
  while (!queue_.empty()) {
    fail("SESSION-CLOSED", why);
  }
}

void Session::enter(SessionState state) {
  around_.log.debug("session state", {{"session", name_},
                                      {"from", kStateNames.at(static_cast<std::size_t>(state_))},
                                      {"to", kStateNames.at(static_cast<std::size_t>(state))}});
  state_ = state;
}

// Carrying them out

/// Starts what can be started. A loop and not a recursion: thousands of calls may be answered
/// without waiting for anything.
void Session::advance() {
  if (std::exchange(advancing_, true)) {
    return;
  }
  while (!queue_.empty() && (state_ == SessionState::kCold || state_ == SessionState::kIdle)) {
    begin(queue_.front());
  }
  advancing_ = false;
  if (state_ == SessionState::kIdle) {
    rest();
  }
}

void Session::begin(Call& call) {
  if (call.taken_back) {
    fail("INTERRUPTED", "Taken back before it was started.");
    return;
  }
  call.since = around_.clock.now();
  std::visit([&](auto& task) { begin(call, task); }, call.task);
}

void Session::begin(Call& call, const Operation& operation) {
  if (state_ == SessionState::kCold) {
    start_worker();
    return;
  }
  if (!call.keep && !timeline_.is_safe()) {
    fail("NO-CHECKPOINT",
         fmt::format("A dry run needs a checkpoint of the state before it, and there is none: {} "
                     "Nothing was evaluated.",
                     timeline_.now().why_none));
    return;
  }
  enter(SessionState::kBusy);
  if (call.timeout) {
    call.limit = around_.clock.after(*call.timeout, [this] { stop(StopReason::kTimeout); });
  }
  worker_->request(operation.request());
}

/// A reset is a new Lisp: nothing that code can do to the old one survives, whatever it was.
void Session::begin(Call& call, const Reset& /*reset*/) {
  notice_.reset();
  between_.reset();  // Of the world that ends.
  replay_ = {};
  if (systems_.empty()) {
    worker_.reset();
    package_ = kFreshPackage;
    journal_.went_back_to(0);
    write_down({.number = call.id, .kind = "reset-session"});
    timeline_.add({.after = call.id,
                   .what = "reset-session",
                   .when = around_.clock.now(),
                   .snapshot = pristine()});
    enter(SessionState::kCold);
    answer_text(reset_text(""));
  } else if (prepared_ && prepared_->usable() && same_systems(prepared_->systems, systems_)) {
    go_to(prepared_, Return::kBack);
  } else {
    worker_.reset();
    package_ = kFreshPackage;
    start_worker();
  }
}

void Session::begin(Call& /*call*/, const Undo& undo) {
  if (timeline_.empty()) {
    start_worker();
    return;
  }
  const Result<Step> step = timeline_.before(undo.calls);
  if (step) {
    go_to(step->snapshot, Return::kBack);
  } else {
    fail("NO-CHECKPOINT", step.error().message);
  }
}

void Session::begin(Call& /*call*/, const Restore& restore) {
  const Step* step = timeline_.named(restore.name);
  if (step == nullptr) {
    fail("NO-CHECKPOINT",
         fmt::format("There is no checkpoint named '{}'. checkpoints with action list shows those "
                     "there are.",
                     restore.name));
  } else if (!step->usable()) {
    fail("NO-CHECKPOINT", fmt::format("The checkpoint '{}' is gone.", restore.name));
  } else {
    go_to(step->snapshot, Return::kBack);
  }
}

void Session::begin(Call& /*call*/, const Save& save) {
  if (timeline_.empty()) {
    start_worker();
    return;
  }
  const std::size_t most = around_.settings.named_checkpoints;
  if (!timeline_.is_safe()) {
    fail("NO-CHECKPOINT", fmt::format("No checkpoint can be made: {}", timeline_.now().why_none));
  } else if (timeline_.named(save.name) == nullptr && timeline_.names().size() >= most) {
    fail("TOO-MANY-CHECKPOINTS",
         fmt::format("This session has {} named checkpoints, the most there may be: drop one "
                     "first, or start the server with a larger --checkpoints.",
                     most));
  } else {
    timeline_.name(save.name);
    answer_text(fmt::format("Saved checkpoint '{}': the session after {}.", save.name,
                            step_text(timeline_.now())));
  }
}

void Session::begin(Call& /*call*/, Fork& fork) {
  if (state_ == SessionState::kCold) {
    start_worker();
    return;
  }
  enter(SessionState::kFreezing);
  worker_->freeze([this, &fork](Result<std::unique_ptr<worker::Frozen>> frozen) {
    if (frozen) {
      const Result<History> written = read_journal(journal_.path());
      Step step = {
          .what = fmt::format("copy of session {} after call {}", name_, timeline_.now().after),
          .when = around_.clock.now(),
          .definitions = written ? all_definitions(*written) : std::vector<worker::Definition>(),
          .snapshot = std::make_shared<Snapshot>(
              Snapshot{.frozen = *std::move(frozen), .systems = systems_, .package = package_})};
      Result<std::string> taken = fork.take(std::move(step));
      if (taken) {
        answer_text(*std::move(taken));
      } else {
        fail("NO-SESSION", std::move(taken.error().message));
      }
    } else {
      fail("NO-CHECKPOINT",
           fmt::format("The session cannot be copied: {}", frozen.error().message));
    }
    enter(SessionState::kIdle);
    advance();
  });
}

void Session::start_worker() {
  enter(SessionState::kStarting);
  worker_ = around_.workers.start(*this);
}

void Session::on_ready() {
  if (state_ == SessionState::kResuming) {
    arrive();
  } else if (!systems_.empty()) {
    enter(SessionState::kRestoring);
    worker_->request(restore_request(systems_));
  } else {
    begin_replay("");
  }
}

/// The systems are there; what a journal knows comes next. `remarks` says what is not.
void Session::begin_replay(const std::string& remarks) {
  if (replay_.empty()) {
    conclude_start(remarks);
    return;
  }
  if (!remarks.empty()) {
    add_notice(remarks);
  }
  returning_ = Return::kJournal;
  replay_next();
}

/// A new worker can serve. `remarks` says what could not be brought back.
void Session::conclude_start(const std::string& remarks) {
  const bool is_reset = !queue_.empty() && std::holds_alternative<Reset>(queue_.front().task);
  const bool replayed = !replay_.empty();
  replay_ = {};
  if (is_reset) {
    origin_ = 0;
    journal_.went_back_to(0);
    write_down({.number = queue_.front().id, .kind = "reset-session", .systems = systems_});
  }
  const bool fresh = systems_.empty() && !replayed;
  const bool as_before = fresh && timeline_.is_safe() && timeline_.now().snapshot->pristine;
  if (!as_before) {
    timeline_.add({.after = is_reset ? queue_.front().id : origin_,
                   .what = is_reset ? "reset-session" : "the start",
                   .when = around_.clock.now(),
                   .snapshot = fresh ? pristine() : nullptr});
  }
  enter(SessionState::kFreezing);  // So that nothing is started from inside finish().
  if (is_reset) {
    answer_text(reset_text(remarks));
  } else if (!remarks.empty()) {
    add_notice(remarks);
  }
  if (fresh) {
    enter(SessionState::kIdle);
    advance();
  } else {
    take_checkpoint();
  }
}

void Session::on_output(worker::Stream stream, std::string_view bytes) {
  const bool running = state_ == SessionState::kBusy || state_ == SessionState::kStopping;
  if (state_ == SessionState::kStarting || state_ == SessionState::kRestoring ||
      state_ == SessionState::kReplaying) {
    return;  // What systems print while they load was shown when they were first loaded.
  }
  if (!running && !between_) {
    between_ = std::make_shared<CallOutput>(new_call(), around_.settings.kept_output);
  }
  CallOutput& written = running ? *queue_.front().written : *between_;
  (stream == worker::Stream::kOutput ? written.output : written.error_output).append(bytes);
  if (running) {
    tell_progress(queue_.front());
  }
}

/// A few times a second at most.
void Session::tell_progress(Call& call) {
  const bool wanted = std::ranges::any_of(
      call.waiters, [](const Waiter& waiter) { return waiter.progress != nullptr; });
  if (!wanted) {
    return;
  }
  if (call.pausing) {
    call.progress_due = true;
    return;
  }
  const std::string line = call.written->output.last_line();
  for (Waiter& waiter : call.waiters) {
    if (waiter.progress) {
      waiter.progress(line);
    }
  }
  call.pausing = true;
  call.progress_pause = around_.clock.after(limits::kProgressPause, [this, id = call.id] {
    if (Call* paused = find(id)) {
      paused->pausing = false;
      if (std::exchange(paused->progress_due, false)) {
        tell_progress(*paused);
      }
    }
  });
}

void Session::on_interrupting(std::vector<std::string> backtrace) {
  where_it_was_ = std::move(backtrace);
}

void Session::on_answer(worker::Answer answer) {
  grace_.cancel();
  if (state_ == SessionState::kReplaying) {
    replayed(answer);
    return;
  }
  package_ = answer.package;
  if (answer.systems) {
    systems_ = *answer.systems;
  }
  if (state_ == SessionState::kRestoring) {
    begin_replay(answer.text.value_or(""));
    return;
  }
  Call& call = queue_.front();
  const Subject& subject = std::get<Operation>(call.task).subject();
  const bool keep = call.keep;
  if (subject.changes_state && keep) {
    timeline_.add(step_of(call.id, subject, answer, around_.clock.now()));
  }
  if (!keep) {
    answer.definitions.clear();
    answer.systems.reset();
  }
  Outcome outcome;
  outcome.answer = std::move(answer);
  if (state_ == SessionState::kStopping) {
    explain_stop(outcome.answer);
  }
  if (!keep) {
    outcome.remark =
        fmt::format("Dry run: the session is as it was before this call. {}", kNotUndone);
  }
  const bool changed = subject.changes_state;
  enter(SessionState::kFreezing);  // So that nothing is started from inside finish().
  finish(std::move(outcome));
  if (!keep) {
    go_to(timeline_.now().snapshot, Return::kDryRun);
  } else if (changed) {
    take_checkpoint();
  } else {
    enter(SessionState::kIdle);
    advance();
  }
}

/// Has the worker leave a frozen copy of itself. Nobody waits for it but the next call, and the
/// answer to the last one has been given.
void Session::take_checkpoint() {
  enter(SessionState::kFreezing);
  worker_->freeze([this](Result<std::unique_ptr<worker::Frozen>> frozen) {
    if (frozen) {
      timeline_.now().snapshot = std::make_shared<Snapshot>(
          Snapshot{.frozen = *std::move(frozen), .systems = systems_, .package = package_});
      around_.checkpoint_made();
    } else {
      timeline_.now().why_none = frozen.error().message;
    }
    enter(SessionState::kIdle);
    advance();
  });
}

// Being ready for a reset

/// While nothing is asked for, there is time to make ready what a reset leads to.
void Session::rest() {
  const bool ready =
      systems_.empty() || preparation_ || (prepared_ && same_systems(prepared_->systems, systems_));
  if (!ready) {
    quiet_ = around_.clock.after(limits::kQuiet, [this] { prepare_reset(); });
  }
}

void Session::prepare_reset() {
  preparation_ = std::make_unique<Preparation>(
      around_.workers, systems_,
      [this, systems = systems_](std::unique_ptr<worker::Frozen> frozen) {
        // Also where it failed, so that it is not tried again and again.
        prepared_ = std::make_shared<Snapshot>(Snapshot{.frozen = std::move(frozen),
                                                        .systems = systems,
                                                        .package = std::string(kFreshPackage)});
        preparation_.reset();
      });
}

}  // namespace clmcp::session
