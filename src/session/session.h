#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "session/journal.h"
#include "session/journal_files.h"
#include "session/journal_text.h"
#include "session/operation.h"
#include "session/output.h"
#include "session/preparation.h"
#include "session/replay.h"
#include "session/settings.h"
#include "session/timeline.h"
#include "worker/worker.h"

namespace clmcp::session {

/// Where a call is that has no answer yet.
struct Pending {
  bool running;    ///< else it waits for its turn
  Duration since;  ///< how long it has been running or waiting
  std::string what;
  std::string behind = {};  ///< what a waiting call waits for
};

/// What came of a call: what the Lisp said and what was written meanwhile. A call that could not be
/// carried through (no Lisp, a dead one, a full queue) has a condition of our own making.
struct Outcome {
  worker::Answer answer = {};
  CallId number = 0;
  std::shared_ptr<CallOutput> written = {};
  std::uint64_t output_from = 0;  ///< What comes before was shown by an earlier reply.
  std::uint64_t error_output_from = 0;
  /// What was written while no call was running, under a number of its own.
  std::shared_ptr<CallOutput> between = {};
  /// What happened to the session before this call and must be known, as a sentence.
  std::optional<std::string> notice = {};
  std::optional<std::string> remark = {};  ///< What happened to the session after it.
  std::optional<Pending> pending = {};     ///< The call goes on; its answer comes later.
};

enum class SessionState {
  kCold,       ///< no worker: the next call starts one
  kStarting,   ///< a worker is starting
  kRestoring,  ///< it loads again the systems that were loaded
  kReplaying,  ///< it makes again the definitions that no checkpoint knows
  kIdle,
  kBusy,      ///< it carries out the first call of the queue
  kStopping,  ///< that call was asked to stop
  kFreezing,  ///< it makes a checkpoint of what it is after the last call
  kResuming,  ///< a checkpoint is taking its place
  kClosed,
};

/// What sessions share.
struct Surroundings {
  worker::WorkerSource& workers;
  Clock& clock;
  Log& log;
  Settings settings = {};
  std::optional<JournalPlace> journals = {};  ///< where sessions keep theirs, if they do
  Callback checkpoint_made = [] {};
};

/// One named Lisp world: a queue of calls and the worker that carries them out, one at a time and
/// in order. Owned by Sessions; lives on the loop's thread.
class Session final : private worker::WorkerEvents {
 public:
  using Done = std::move_only_function<void(Outcome)>;
  using Progress = std::move_only_function<void(std::string_view last_line)>;

  /// How a call is to be made.
  struct Terms {
    std::optional<Duration> wait = {};     ///< The reply comes by then, with or without an answer.
    std::optional<Duration> timeout = {};  ///< The work is stopped then.
    bool keep = true;                      ///< Otherwise the session is put back afterwards.
    Progress progress = {};
  };

  Session(std::string name, Surroundings& surroundings);

  /// A session that begins as a copy of another.
  Session(std::string name, Surroundings& surroundings, Step origin);

  /// A session that begins as a journal left it.
  Session(std::string name, Surroundings& surroundings, ResumedJournal resumed);

  [[nodiscard]] const std::string& name() const { return name_; }

  /// A number for a call that is about to be made, under which it can be cancelled and asked for.
  [[nodiscard]] CallId new_call() { return ++last_id_; }

  /// Has the next reply say something about the session.
  void tell(std::string notice) { notice_ = std::move(notice); }

  /// Starts the worker, if there is none, before a call needs it.
  void warm_up();

  /// Each of these queues a call. `done` is called exactly once, perhaps from inside.
  void call(CallId id, Operation operation, Terms terms, Done done);
  /// A new Lisp world in which only the loaded systems are there again.
  void reset(CallId id, Terms terms, Done done);
  /// Back to what the session was that many calls ago.
  void undo(CallId id, std::size_t calls, Terms terms, Done done);
  /// Gives the present state a name,
  void save(CallId id, std::string name, Terms terms, Done done);
  /// and goes back to the state of that name.
  void restore(CallId id, std::string name, Terms terms, Done done);
  /// Hands a copy of the present state to `take`, if one can be made, and answers with its words.
  using Take = std::move_only_function<Result<std::string>(Step)>;
  void fork(CallId id, Take take, Terms terms, Done done);

  /// Waits for a call that was answered before it was done; for the latest where none is named.
  /// Gives a ticket to stop waiting with.
  std::uint64_t wait_for(std::optional<CallId> job, Terms terms, Done done);
  void stop_waiting(std::uint64_t ticket);

  /// Stops a call, the running one where none is named, and waits for what it answers then.
  void interrupt(std::optional<CallId> job, Done done);

  /// Takes a call back whose caller is not interested any more.
  void cancel(CallId id);

  /// Answers all calls with `why` and ends the worker. Nothing can be called afterwards.
  void close(const std::string& why);

  /// Forgets a named state. False where there is none of that name.
  bool drop(const std::string& checkpoint) { return timeline_.drop(checkpoint); }

  /// What a call wrote; the latest one where none is named. Null where it is not kept.
  [[nodiscard]] std::shared_ptr<CallOutput> output_of(std::optional<CallId> number) const;
  /// Numbers of the calls whose output is kept, oldest first.
  [[nodiscard]] std::vector<CallId> calls_with_output() const;

  [[nodiscard]] SessionState state() const { return state_; }

  [[nodiscard]] TimePoint now() const { return around_.clock.now(); }

  /// What the session is doing, in a few words.
  [[nodiscard]] std::string activity() const;

  [[nodiscard]] const Timeline& timeline() const { return timeline_; }

  [[nodiscard]] std::size_t memory() const { return worker_ ? worker_->memory() : 0; }

  /// Lets the oldest checkpoint go that can be spared.
  void drop_oldest_checkpoint(const std::string& why) { timeline_.drop_oldest_expendable(why); }

  /// The name of the package that the next evaluation reads in.
  [[nodiscard]] const std::string& package() const { return package_; }

 private:
  struct Reset {};

  struct Undo {
    std::size_t calls;
  };

  struct Save {
    std::string name;
  };

  struct Restore {
    std::string name;
  };

  struct Fork {
    Take take;
  };

  using Task = std::variant<Operation, Reset, Undo, Save, Restore, Fork>;

  /// Somebody who waits for a call's answer.
  struct Waiter {
    std::uint64_t ticket;
    Done done;
    Progress progress;
    Timer patience = {};
  };

  struct Call {
    CallId id;
    Task task;
    std::optional<Duration> timeout;
    bool keep;
    TimePoint since;  // it was queued, or started
    std::vector<Waiter> waiters = {};
    std::shared_ptr<CallOutput> written = {};
    std::uint64_t output_shown = 0;
    std::uint64_t error_output_shown = 0;
    Timer limit = {};
    Timer progress_pause = {};
    bool pausing = false;
    bool progress_due = false;
    bool taken_back = false;
  };

  /// The last death of a worker.
  struct Death {
    std::string how;
    SessionState during = SessionState::kCold;
  };

  enum class StopReason { kCancelled, kInterrupted, kTimeout };

  /// Why a worker is taking the place of another.
  enum class Return {
    kDeath,    ///< the other one died
    kBack,     ///< the first call of the queue asked for it
    kDryRun,   ///< what the other one did last is not to be kept
    kCopy,     ///< there was none: the session begins as a copy,
    kJournal,  ///< or as its journal says
  };

  void on_ready() override;
  void on_output(worker::Stream stream, std::string_view bytes) override;
  void on_interrupting(std::vector<std::string> backtrace) override;
  void on_answer(worker::Answer answer) override;
  void on_end(std::string how) override;

  void enqueue(CallId id, Task task, Terms terms, Done done);
  void enter(SessionState state);
  void advance();
  void begin(Call& call);
  void begin(Call& call, const Operation& operation);
  void begin(Call& call, const Reset& reset);
  void begin(Call& call, const Undo& undo);
  void begin(Call& call, const Save& save);
  void begin(Call& call, const Restore& restore);
  void begin(Call& call, Fork& fork);
  void start_worker();
  void begin_replay(const std::string& remarks);
  void conclude_start(const std::string& remarks);
  void take_checkpoint();
  void go_to(std::shared_ptr<Snapshot> snapshot, Return why);
  void arrive();
  void conclude_return();
  void answer_return(const Call& call);
  void freeze_again();
  void fall_back();
  void lose_everything();
  void replay_next();
  void replayed(const worker::Answer& answer);
  void replay_again(const std::string& how);
  void prepare_reset();
  void rest();
  void add_notice(const std::string& sentence);
  void write_down(const Call& call, const Outcome& outcome);
  void write_down(const JournalEntry& entry);

  Call* find(CallId id);
  [[nodiscard]] bool is_running(const Call& call) const;
  std::uint64_t attend(Call& call, Terms terms, Done done);
  void lose_patience(std::uint64_t ticket);
  void stop(StopReason reason);
  void take_back(Call& call);
  void tell_progress(Call& call);
  void finish(Outcome outcome);
  void fail(std::string type, std::string message);
  void answer_text(std::string text);
  void keep_output(const std::shared_ptr<CallOutput>& written);
  [[nodiscard]] Pending pending(const Call& call) const;
  void fill_in(Outcome& outcome, Call& call);

  void explain_stop(worker::Answer& answer) const;
  void tell_of_death(const std::string& consequence);
  [[nodiscard]] std::string what_is_back() const;
  [[nodiscard]] std::string what_is_lost() const;
  [[nodiscard]] std::string stopped_because() const;

  std::string name_;
  Surroundings& around_;
  SessionState state_ = SessionState::kCold;
  CallId last_id_ = 0;
  std::uint64_t last_ticket_ = 0;
  std::deque<Call> queue_;
  std::map<CallId, Outcome> unread_;  // of calls that were answered before they were done
  std::deque<std::shared_ptr<CallOutput>> kept_;
  std::shared_ptr<CallOutput> between_;
  std::unique_ptr<worker::Worker> worker_;
  Timeline timeline_;
  Journal journal_;
  CallId origin_ = 0;  // The state that the session began in, as its journal numbers it.
  std::vector<worker::SystemRef> systems_;  // To be loaded again in every new worker.
  std::string package_;
  std::optional<std::string> notice_;

  // While another worker takes the place of this one:
  Return returning_ = Return::kBack;
  std::shared_ptr<Snapshot> target_;
  Death death_;
  std::size_t lost_ = 0;    // Steps since the state it goes back to,
  Replay replay_;           // what is done again of them,
  std::string why_replay_;  // and why that is necessary.

  // While a call is stopped:
  StopReason stop_reason_ = StopReason::kCancelled;
  std::vector<std::string> where_it_was_;
  Timer grace_;

  std::shared_ptr<Snapshot> prepared_;  // What a reset leads to.
  std::unique_ptr<Preparation> preparation_;
  Timer quiet_;  // Until there is time for a preparation.
  bool advancing_ = false;
};

}  // namespace clmcp::session
