// What a session answers, and what it keeps of it.

#include <chrono>
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
#include "session/journal.h"
#include "session/journal_text.h"
#include "session/operation.h"
#include "session/output.h"
#include "session/replay.h"
#include "session/session.h"
#include "session/timeline.h"
#include "session/words.h"
#include "worker/worker.h"

namespace clmcp::session {
namespace {

/// What a call said, for the journal.
std::string outcome_text(const Outcome& outcome) {
  const worker::Answer& answer = outcome.answer;
  std::string text = outcome.written->output.excerpt(0, limits::kJournalOutcomeBytes / 2).head;
  if (!text.empty() && !text.ends_with('\n')) {
    text += '\n';
  }
  if (answer.condition) {
    return text + fmt::format("{}: {}", answer.condition->type, answer.condition->message);
  }
  return text + (answer.values ? fmt::format("=> {}", fmt::join(*answer.values, "\n=> "))
                               : answer.text.value_or(""));
}

template <typename... F>
struct Overload : F... {
  using F::operator()...;
};

}  // namespace

void Session::fill_in(Outcome& outcome, Call& call) {
  outcome.number = call.id;
  outcome.written = call.written;
  outcome.output_from = call.output_shown;
  outcome.error_output_from = call.error_output_shown;
  outcome.between = std::exchange(between_, nullptr);
  if (outcome.between) {
    keep_output(outcome.between);
  }
  outcome.notice = std::exchange(notice_, std::nullopt);
}

void Session::finish(Outcome outcome) {
  Call call = std::move(queue_.front());
  queue_.pop_front();
  fill_in(outcome, call);
  keep_output(call.written);
  write_down(call, outcome);
  if (call.waiters.empty()) {
    unread_.emplace(call.id, std::move(outcome));
    if (unread_.size() > limits::kUnreadJobs) {
      unread_.erase(unread_.begin());
    }
    return;
  }
  for (Waiter& waiter : call.waiters) {
    waiter.done(outcome);
  }
}

void Session::add_notice(const std::string& sentence) {
  notice_ = notice_ ? fmt::format("{}\n{}", *notice_, sentence) : sentence;
}

/// Before anybody hears of it: what was answered is in the journal.
void Session::write_down(const Call& call, const Outcome& outcome) {
  const Operation* operation = std::get_if<Operation>(&call.task);
  if (operation == nullptr || !operation->subject().changes_state) {
    return;
  }
  const Subject& subject = operation->subject();
  write_down({.number = call.id,
              .kind = subject.tool,
              .code = subject.text,
              .package = subject.package,
              .outcome = outcome_text(outcome),
              .definitions = outcome.answer.definitions,
              .systems = outcome.answer.systems});
  // A dry run, or a call that the worker died of, has led nowhere.
  const CallId now = timeline_.empty() ? origin_ : timeline_.now().after;
  if (now != call.id) {
    journal_.went_back_to(now);
  }
}

void Session::write_down(const JournalEntry& entry) {
  journal_.record(entry);
  if (const std::optional<std::string> trouble = journal_.take_trouble()) {
    around_.log.warning("journal", {{"session", name_}, {"trouble", *trouble}});
    add_notice(*trouble);
  }
}

void Session::fail(std::string type, std::string message) {
  finish(failure(std::move(type), std::move(message)));
}

void Session::answer_text(std::string text) {
  Outcome outcome;
  outcome.answer.text = std::move(text);
  finish(std::move(outcome));
}

void Session::keep_output(const std::shared_ptr<CallOutput>& written) {
  kept_.push_back(written);
  std::uint64_t total = 0;
  for (const auto& output : kept_) {
    total += output->output.kept() + output->error_output.kept() + output->result.kept();
  }
  while (kept_.size() > limits::kCallsWithOutput ||
         (kept_.size() > 1 && total > around_.settings.kept_output)) {
    const CallOutput& oldest = *kept_.front();
    total -= oldest.output.kept() + oldest.error_output.kept() + oldest.result.kept();
    kept_.pop_front();
  }
}

std::shared_ptr<CallOutput> Session::output_of(std::optional<CallId> number) const {
  for (const Call& call : queue_) {
    if (call.id == number) {
      return call.written;
    }
  }
  for (const auto& output : kept_) {
    if (output->call == number) {
      return output;
    }
  }
  if (number) {
    return nullptr;
  }
  if (!queue_.empty() && is_running(queue_.front())) {
    return queue_.front().written;
  }
  return kept_.empty() ? nullptr : kept_.back();
}

std::vector<CallId> Session::calls_with_output() const {
  std::vector<CallId> numbers;
  numbers.reserve(kept_.size());
  for (const auto& output : kept_) {
    numbers.push_back(output->call);
  }
  return numbers;
}

Pending Session::pending(const Call& call) const {
  const auto describe = [](const Call& other) {
    return std::visit(Overload{[](const Operation& operation) {
                                 return fmt::format("{} {}", operation.subject().tool,
                                                    one_line(operation.subject().text));
                               },
                               [](const Reset&) { return std::string("reset-session"); },
                               [](const Undo&) { return std::string("undo"); },
                               [](const Save&) { return std::string("checkpoints save"); },
                               [](const Restore&) { return std::string("checkpoints restore"); },
                               [](const Fork&) { return std::string("sessions fork"); }},
                      other.task);
  };
  const auto since = [&](const Call& other) {
    return std::chrono::duration_cast<Duration>(around_.clock.now() - other.since);
  };
  Pending pending = {.running = is_running(call), .since = since(call), .what = describe(call)};
  if (!pending.running && &call != &queue_.front()) {
    const Call& first = queue_.front();
    pending.behind = fmt::format("job {} ({}), which has been running for {}", first.id,
                                 describe(first), seconds_text(since(first)));
  } else if (!pending.running) {
    pending.behind = "the session's Lisp to be ready";
  }
  return pending;
}

std::string Session::activity() const {
  switch (state_) {
    case SessionState::kCold:
      return "not started";
    case SessionState::kStarting:
    case SessionState::kRestoring:
    case SessionState::kReplaying:
      return "starting";
    case SessionState::kBusy:
    case SessionState::kStopping: {
      const Pending first = pending(queue_.front());
      return fmt::format("running job {} for {}: {}", queue_.front().id, seconds_text(first.since),
                         first.what);
    }
    default:
      return "idle";
  }
}

std::string Session::stopped_because() const {
  if (stop_reason_ == StopReason::kTimeout) {
    return fmt::format("The evaluation reached its timeout of {} and",
                       seconds_text(queue_.front().timeout.value_or(Duration(0))));
  }
  return stop_reason_ == StopReason::kCancelled ? "An evaluation" : "The evaluation";
}

/// Says that the first rung was enough, where the answer comes from it.
void Session::explain_stop(worker::Answer& answer) const {
  if (stop_reason_ == StopReason::kCancelled || !answer.condition ||
      answer.condition->type != "INTERRUPTED") {
    return;  // Nobody reads it; or it came to its end before the interrupt came to it.
  }
  if (stop_reason_ == StopReason::kTimeout) {
    answer.condition->type = "TIMEOUT";
  }
  answer.condition->message = fmt::format(
      "{} was interrupted: it unwound, its cleanup forms ran, and the session keeps "
      "what it did until then.",
      stopped_because());
}

/// Answers the call during which the worker died, or has the next one tell it.
void Session::tell_of_death(const std::string& consequence) {
  const std::string& how = death_.how;
  switch (death_.during) {
    case SessionState::kStarting:
      if (!queue_.empty()) {
        fail("LISP-UNAVAILABLE", how);
      }
      break;
    case SessionState::kRestoring:
      systems_.clear();
      notice_ = fmt::format(
          "{} It was loading this session's systems again; they will not be tried once more.", how);
      if (!queue_.empty()) {
        fail("LISP-PROCESS-ENDED", *std::exchange(notice_, std::nullopt));
      }
      break;
    case SessionState::kBusy:
      fail("LISP-PROCESS-ENDED", fmt::format("{} {}", how, consequence));
      break;
    case SessionState::kStopping: {
      std::string words =
          fmt::format("{} did not stop when it was interrupted, so its Lisp process was ended. {}",
                      stopped_because(), consequence);
      if (stop_reason_ == StopReason::kCancelled) {
        notice_.reset();
        Outcome outcome = failure("INTERRUPTED", words);
        finish(std::move(outcome));
        // The answer to a cancelled call is not sent, so the next call must tell it too.
        notice_ = std::move(words);
        break;
      }
      if (where_it_was_.empty()) {
        words += " Where it was is not known, since it did not react.";
      }
      Outcome outcome = failure(stop_reason_ == StopReason::kTimeout ? "TIMEOUT" : "INTERRUPTED",
                                std::move(words));
      outcome.answer.condition->backtrace = std::move(where_it_was_);
      finish(std::move(outcome));
      break;
    }
    default:
      notice_ = fmt::format("{} This happened between two calls. {}", how, consequence);
      break;
  }
}

std::string Session::what_is_back() const {
  if (replay_.empty()) {
    const std::string_view moment = death_.during == SessionState::kBusy ? "before this call"
                                    : death_.during == SessionState::kStopping
                                        ? "before that evaluation"
                                        : "after the last call";
    return fmt::format("The session is back to its state {}. {}", moment, kNotUndone);
  }
  return fmt::format(
      "The session is back to an older checkpoint, since there could be no newer one: {} {} {}",
      why_replay_, replay_.report(), kNotUndone);
}

std::string Session::what_is_lost() const {
  return fmt::format("What this session had defined is lost; the next evaluation starts afresh{}.",
                     systems_.empty() ? "" : ", with the loaded systems loaded again");
}

}  // namespace clmcp::session
