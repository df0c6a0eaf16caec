#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "session/operation.h"
#include "session/output.h"
#include "worker/worker.h"

namespace clmcp::session {

/// What came of a call: what the Lisp said and what was written meanwhile. A call that could not be
/// carried through (no Lisp, a dead one, a full queue) has a condition of our own making.
struct Outcome {
  worker::Answer answer = {};
  /// The call's number.
  std::uint64_t number = 0;
  /// Shared with the session, which keeps it to be read later. Null where nothing could be written.
  std::shared_ptr<CallOutput> written = {};
  /// What an earlier reply to the same call has shown already.
  std::uint64_t output_from = 0;
  std::uint64_t error_output_from = 0;
  /// What happened to the session before this call and must be known, as a sentence.
  std::optional<std::string> notice = {};
};

/// A call's number within its session.
using CallId = std::uint64_t;

enum class SessionState {
  kCold,       ///< no worker: the next call starts one
  kStarting,   ///< a worker is starting
  kRestoring,  ///< it loads again the systems that were loaded
  kIdle,
  kBusy,      ///< it carries out the first call of the queue
  kStopping,  ///< that call was cancelled; it has been asked to stop
  kFreezing,  ///< it makes a checkpoint of what it is after the last call
  kResuming,  ///< it died, and a checkpoint is taking its place
  kClosed,
};

/// One named Lisp world: a queue of calls and the worker that carries them out, one at a time and
/// in order. Owned by Sessions; lives on the loop's thread.
class Session final : private worker::WorkerEvents {
 public:
  using Done = std::move_only_function<void(Outcome)>;

  Session(std::string name, worker::WorkerSource& workers, Clock& clock, Log& log);

  /// A number for a call that is about to be made, under which it can be cancelled.
  [[nodiscard]] CallId new_call() { return ++last_id_; }

  /// Queues an operation. `done` is called exactly once, perhaps from inside this call.
  void call(CallId id, Operation operation, Done done);

  /// Queues a reset: a new Lisp world in which only the loaded systems are there again.
  void reset(CallId id, Done done);

  /// Takes a call back: out of the queue, or by interrupting it and, when that does not help within
  /// limits::kInterruptGrace, by ending the worker.
  void cancel(CallId id);

  /// Answers all calls with `why` and ends the worker. Nothing can be called afterwards.
  void close(const std::string& why);

  [[nodiscard]] SessionState state() const { return state_; }

  /// What a call wrote, the latest one where there is no number; null where it is not kept.
  [[nodiscard]] std::shared_ptr<CallOutput> output_of(std::optional<CallId> call) const;

  /// The calls whose output is kept, in order.
  [[nodiscard]] std::vector<CallId> calls_with_output() const;

  /// The name of the package that the next evaluation reads in.
  [[nodiscard]] const std::string& package() const { return package_; }

 private:
  struct Call {
    CallId id;
    std::optional<Operation> operation;  // Empty means a reset.
    Done done;
  };

  /// What the session was after some call.
  struct Checkpoint {
    std::unique_ptr<worker::Frozen> frozen;  // Empty once it has become the worker.
    std::vector<worker::SystemRef> systems;
    std::string package;
    std::size_t calls_since = 0;     // Calls carried out that it does not know,
    std::string why_not_newer = {};  // and why there is none that does.
  };

  /// The last death of a worker.
  struct Death {
    std::string how;
    SessionState during = SessionState::kCold;
  };

  void on_ready() override;
  void on_output(worker::Stream stream, std::string_view bytes) override;

  void on_interrupting(std::vector<std::string> /*backtrace*/) override {}

  void on_answer(worker::Answer answer) override;
  void on_end(std::string how) override;

  void enqueue(Call call);
  void enter(SessionState state);
  void advance();
  void start_worker();
  void begin_reset();
  void take_checkpoint();
  void resume_checkpoint();
  void be_ready(const std::string& remarks);
  void finish(Outcome outcome);
  void fail(std::string type, std::string message);
  void tell_of_death(const std::string& consequence);
  [[nodiscard]] Outcome collect();
  void keep_output();
  void drop_output();
  [[nodiscard]] std::string what_is_lost() const;
  [[nodiscard]] std::string what_is_back() const;

  std::string name_;
  worker::WorkerSource& workers_;
  Clock& clock_;
  Log& log_;
  SessionState state_ = SessionState::kCold;
  CallId last_id_ = 0;
  std::deque<Call> queue_;
  std::unique_ptr<worker::Worker> worker_;
  std::optional<Checkpoint> checkpoint_;
  Death death_;
  std::vector<worker::SystemRef> systems_;  // To be loaded again in every new worker.
  std::string package_ = "COMMON-LISP-USER";
  std::shared_ptr<CallOutput> written_ = std::make_shared<CallOutput>();
  std::deque<std::shared_ptr<CallOutput>> kept_;  // Of the latest calls, that under way the last.
  std::optional<std::string> notice_;
  Timer grace_;
  bool advancing_ = false;
};

}  // namespace clmcp::session
