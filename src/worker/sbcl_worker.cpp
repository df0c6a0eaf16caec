#include "worker/sbcl_worker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/answer.h"
#include "worker/child.h"
#include "worker/form.h"
#include "worker/frame.h"
#include "worker/freezing.h"
#include "worker/guardian.h"
#include "worker/image.h"
#include "worker/reaper.h"
#include "worker/template.h"
#include "worker/worker.h"

namespace clmcp::worker {
namespace {

constexpr std::int64_t kProtocol = 1;
constexpr std::size_t kReadBytes = 64 * limits::kKiB;

enum class State {
  kWaiting,   ///< for the image, or for a copy of the template
  kStarting,  ///< the process runs, the agent has not spoken yet
  kIdle,
  kBusy,
  kFreezing,  ///< a frozen copy is being made
  kEnding,    ///< killed, or its link is broken; waiting for the Reaper
  kEnded,
};

/// What a worker is a copy of.
enum class Origin { kTemplate, kCheckpoint };

std::vector<std::string> command(const std::string& image, std::size_t heap_megabytes) {
  std::vector<std::string> words = {image, "--noinform", "--disable-ldb"};
  if (heap_megabytes > 0) {
    words.insert(words.end(), {"--dynamic-space-size", fmt::format("{}MB", heap_megabytes)});
  }
  words.emplace_back("--end-runtime-options");
  return words;
}

Form resume_message(const std::string& token, Origin origin) {
  Form::List message = {{Keyword{"resume"}}, {Keyword{"token"}}, {token}};
  if (origin == Origin::kTemplate) {
    message.insert(message.end(), {{Keyword{"fresh"}}, {True{}}});
  }
  return Form{std::move(message)};
}

/// Why there is no process, as a sentence with what to do.
std::string explain(const Error& error) {
  if (error.code != ErrorCode::kSystem) {
    return error.message;
  }
  return fmt::format(
      "The Lisp process cannot be started: {}. If its image is at fault, make it anew with 'make "
      "build', or name an SBCL with --lisp.",
      error.message);
}

std::string describe(ExitStatus status) {
  if (status.signal != 0) {
    return fmt::format("was killed by signal {} ({})", status.signal,
                       ::strsignal(status.signal));  // NOLINT(concurrency-mt-unsafe): one thread
  }
  return fmt::format("exited with code {}", status.exit_code);
}

class SbclWorker final : public Worker {
 public:
  /// With `checkpoint_heap` bytes of heap in use, freezing is refused; 0 never refuses.
  SbclWorker(Loop& loop, Reaper& reaper, ImageFinder& images, std::string token,
             std::size_t checkpoint_heap, WorkerEvents& events)
      : loop_(loop),
        reaper_(reaper),
        images_(images),
        token_(std::move(token)),
        checkpoint_heap_(checkpoint_heap),
        events_(events) {}

  /// Starts a process of its own, which the guardian knows by `guard_token`.
  void find_image(std::string guard_token, std::size_t heap_megabytes) {
    images_.find([weak = std::weak_ptr(alive_), this, guard_token = std::move(guard_token),
                  heap_megabytes](Result<std::filesystem::path> image) {
      if (weak.expired()) {
        return;
      }
      const Result<void> started = start_process(image, guard_token, heap_megabytes);
      if (!started) {
        end(explain(started.error()));
      }
    });
  }

  /// Becomes a copy of the template.
  void await_copy(Template& original) {
    original.copy(alive_, [this](Result<std::unique_ptr<Frozen>> copy) {
      if (!copy) {
        end(explain(copy.error()));
      } else {
        take_over(static_cast<FrozenSbcl&>(**copy), Origin::kTemplate);  // We make no others.
      }
    });
  }

  /// Becomes the worker that `frozen` is a copy of.
  void take_over(FrozenSbcl& frozen, Origin origin) {
    const Result<void> resumed = resume(frozen, origin);
    if (!resumed) {
      loop_.post([weak = std::weak_ptr(alive_), this, why = explain(resumed.error())] {
        if (!weak.expired()) {
          end(why);
        }
      });
    }
  }

  void request(const Request& request) override {
    state_ = State::kBusy;
    send_request(request);
  }

  void freeze(Froze done) override {
    Result<FdPair> link = make_socket_pair();
    if (!link) {
      done(std::unexpected(std::move(link).error()));
      return;
    }
    state_ = State::kFreezing;
    send_request({.operation = "freeze", .arguments = freeze_arguments()});
    if (!send_descriptors(control_.get(), {link->theirs.get()})) {
      // The agent waits for a socket that will not come, so it cannot be used any more.
      give_up("could not be sent a socket");
      return;
    }
    limit_ = loop_.after(limits::kCheckpoint, [this] { give_up("made no checkpoint in time"); });
    freezing_.emplace(loop_, reaper_, token_, std::move(link->ours),
                      [this, done = std::move(done)](auto frozen) mutable {
                        conclude_freezing(std::move(frozen), std::move(done));
                      });
  }

  void interrupt() override {
    if (state_ == State::kBusy) {
      // With the request's number, so that an interrupt which comes too late hits no other.
      child_->signal(SIGINT, static_cast<int>(request_id_ & 0x7fffffff));
    }
  }

  void kill() override {
    if (child_) {
      state_ = State::kEnding;
      child_->kill_group();
    }
  }

  [[nodiscard]] std::size_t memory() const override { return child_ ? child_->memory() : 0; }

 private:
  Result<void> start_process(const Result<std::filesystem::path>& image,
                             const std::string& guard_token, std::size_t heap_megabytes) {
    image_ = TRY(image).native();
    FdPair output = TRY(make_pipe());
    FdPair error = TRY(make_pipe());
    FdPair control = TRY(make_socket_pair());
    child_ = TRY(
        Child::start({.argv = command(image_, heap_megabytes),
                      .environment = {{Guardian::kVariable, guard_token}, {Reaper::kOwner, token_}},
                      .output = std::move(output.theirs),
                      .error = std::move(error.theirs),
                      .control = std::move(control.theirs)},
                     reaper_, [this](ExitStatus status) { on_exit(status); }));
    attend(std::move(output.ours), std::move(error.ours), std::move(control.ours));
    return {};
  }

  Result<void> resume(FrozenSbcl& frozen, Origin origin) {
    FdPair output = TRY(make_pipe());
    FdPair error = TRY(make_pipe());
    child_ = std::move(frozen.child);
    if (!child_->run_user_code(token_, [this](ExitStatus status) { on_exit(status); })) {
      return std::unexpected(
          Error{.code = ErrorCode::kUnavailable, .message = "The checkpoint is gone."});
    }
    attend(std::move(output.ours), std::move(error.ours), std::move(frozen.link));
    unsent_ = make_frame(print_form(resume_message(token_, origin)));
    send();
    return send_descriptors(control_.get(), {output.theirs.get(), error.theirs.get()});
  }

  /// Listens to a process that is starting, at our ends of its descriptors.
  void attend(Fd output, Fd error, Fd control) {
    output_ = std::move(output);
    error_ = std::move(error);
    control_ = std::move(control);
    output_events_ = std::make_unique<FdEvents>(loop_, output_.get());
    error_events_ = std::make_unique<FdEvents>(loop_, error_.get());
    control_events_ = std::make_unique<FdEvents>(loop_, control_.get());
    output_events_->on_readable([this] { drain(Stream::kOutput); });
    error_events_->on_readable([this] { drain(Stream::kError); });
    control_events_->on_readable([this] { receive(); });
    state_ = State::kStarting;
    limit_ = loop_.after(limits::kWorkerStart, [this] { give_up("did not start in time"); });
  }

  void send_request(const Request& request) {
    unsent_ += make_frame(print_request(request, ++request_id_));
    send();
  }

  [[nodiscard]] Form::List freeze_arguments() const {
    if (checkpoint_heap_ == 0) {
      return {};
    }
    return {{Keyword{"heap-limit"}}, {static_cast<std::int64_t>(checkpoint_heap_)}};
  }

  void conclude_freezing(Result<std::unique_ptr<FrozenSbcl>> frozen, Froze done) {
    limit_.cancel();
    freezing_.reset();
    state_ = State::kIdle;
    if (!frozen) {
      done(std::unexpected(std::move(frozen).error()));
    } else {
      done(*std::move(frozen));
    }
  }

  void send() {
    std::string_view rest = unsent_;
    IoStatus status = IoStatus::kOk;
    while (!rest.empty() && status == IoStatus::kOk) {
      status = write_some(control_.get(), rest);
    }
    unsent_.erase(0, unsent_.size() - rest.size());
    if (!unsent_.empty() && status == IoStatus::kWouldBlock) {
      control_events_->once_writable([this] { send(); });
    }
    // Other failures mean that the process is going, which the Reaper will tell.
  }

  /// Passes on what is in a pipe now. While more keeps coming the loop calls again, so that a flood
  /// on one pipe cannot keep us from everything else.
  void drain(Stream stream) {
    const Fd& fd = stream == Stream::kOutput ? output_ : error_;
    std::string bytes;
    for (std::size_t total = 0; total < limits::kMiB; total += bytes.size()) {
      bytes.clear();
      const IoStatus status = read_some(fd.get(), bytes, kReadBytes);
      if (status == IoStatus::kClosed || status == IoStatus::kFailed) {
        FdEvents& events = stream == Stream::kOutput ? *output_events_ : *error_events_;
        events.pause_reading();  // User code closed it; there is nothing more to come.
      }
      if (status != IoStatus::kOk) {
        return;
      }
      if (state_ == State::kStarting) {
        last_words_.append(bytes, 0, limits::kKiB);
      }
      events_.on_output(stream, bytes);
    }
  }

  void receive() {
    const IoStatus status = read_some(control_.get(), frames_.buffer(), kReadBytes);
    if (status == IoStatus::kWouldBlock) {
      return;
    }
    if (status != IoStatus::kOk) {
      // Gone, or user code closed the descriptor: either way it cannot serve any more.
      control_events_->pause_reading();
      child_->kill_group();
      return;
    }
    const std::weak_ptr<bool> weak = alive_;
    while (!weak.expired() && take_frame()) {
    }
  }

  /// Handles one frame; false when there is none left.
  bool take_frame() {
    if (state_ == State::kEnding) {
      return false;  // It has been given up, whatever it still says.
    }
    Result<std::optional<AgentMessage>> message = next_agent_message(frames_);
    if (!message) {
      give_up(fmt::format("broke the protocol ({})", message.error().message));
      return false;
    }
    if (!*message) {
      return false;
    }
    if (const Ready* ready = std::get_if<Ready>(&**message)) {
      on_ready(*ready);
      return true;
    }
    if (Interrupting* interrupting = std::get_if<Interrupting>(&**message)) {
      return on_interrupting(*interrupting);
    }
    Done* done = std::get_if<Done>(&**message);
    const bool asked = state_ == State::kBusy || state_ == State::kFreezing;
    if (done == nullptr || !asked || done->id != request_id_) {
      give_up("answered what it was not asked");
      return false;
    }
    if (state_ == State::kFreezing) {
      freezing_->original_says(done->answer);
      return true;
    }
    // All that the operation wrote is in the pipes by now; see AGENT-PROTOCOL.md.
    drain(Stream::kOutput);
    drain(Stream::kError);
    state_ = State::kIdle;
    events_.on_answer(std::move(done->answer));
    return true;
  }

  bool on_interrupting(Interrupting& interrupting) {
    if (state_ != State::kBusy || interrupting.id != request_id_) {
      give_up("stops what it was not asked");
      return false;
    }
    events_.on_interrupting(std::move(interrupting.backtrace));
    return true;
  }

  void on_ready(const Ready& ready) {
    limit_.cancel();
    if (state_ != State::kStarting || ready.protocol != kProtocol) {
      give_up(fmt::format("speaks protocol {} where {} is wanted; rebuild it", ready.protocol,
                          kProtocol));
      return;
    }
    state_ = State::kIdle;
    events_.on_ready();
  }

  void give_up(std::string why) {
    failure_ = std::move(why);
    kill();
  }

  void on_exit(ExitStatus status) {
    limit_.cancel();
    drain(Stream::kOutput);
    drain(Stream::kError);
    if (!failure_.empty()) {
      end(fmt::format("{} {}.", name(), failure_));
    } else if (state_ == State::kStarting) {
      end(fmt::format("{} {} before it was ready{}. {}", name(), describe(status), last_words(),
                      images_.discard(image_)
                          ? "It will be made anew by the next evaluation."
                          : "Make it anew with 'make build', or name another SBCL with --lisp."));
    } else {
      end(fmt::format("The Lisp process {}.", describe(status)));
    }
  }

  [[nodiscard]] std::string name() const {
    return image_.empty() ? "The Lisp process" : fmt::format("The worker {}", image_);
  }

  /// The last line that it said, for a worker that dies before it serves.
  [[nodiscard]] std::string last_words() const {
    const std::size_t end = last_words_.find_last_not_of(" \n\r\t");
    if (end == std::string::npos) {
      return "";
    }
    const std::string_view words = std::string_view(last_words_).substr(0, end + 1);
    return fmt::format(" (it said: {})", words.substr(words.find_last_of('\n') + 1));
  }

  void end(std::string how) {
    state_ = State::kEnded;
    events_.on_end(std::move(how));  // May destroy us: nothing may follow.
  }

  Loop& loop_;
  Reaper& reaper_;
  ImageFinder& images_;
  std::string token_;
  std::size_t checkpoint_heap_;
  WorkerEvents& events_;
  State state_ = State::kWaiting;
  std::string image_;  // Empty in a copy.
  std::string failure_;
  std::string last_words_;
  Fd output_;
  Fd error_;
  Fd control_;
  std::unique_ptr<FdEvents> output_events_;  // Before the descriptors in the order of destruction.
  std::unique_ptr<FdEvents> error_events_;
  std::unique_ptr<FdEvents> control_events_;
  std::optional<Child> child_;
  FrameReader frames_;
  std::string unsent_;
  std::int64_t request_id_ = 0;
  std::optional<Freezing> freezing_;
  Timer limit_;  // On starting, or on making a checkpoint.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // For calls that outlive us.
};

std::size_t checkpoint_heap(const SbclSettings& settings) {
  return settings.checkpoint_heap_megabytes * limits::kMiB;
}

}  // namespace

std::size_t default_heap_megabytes() {
  const auto pages = static_cast<std::size_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return std::clamp(pages * page_bytes / limits::kMiB / limits::kHeapPartOfMemory,
                    limits::kLeastHeapMegabytes, limits::kMostHeapMegabytes);
}

SbclSource::SbclSource(Loop& loop, Reaper& reaper, ImageFinder& images, SbclSettings settings)
    : loop_(loop),
      reaper_(reaper),
      images_(images),
      settings_(settings),
      template_(loop, [this](WorkerEvents& events) { return start_image(events); }) {}

std::unique_ptr<Worker> SbclSource::start(WorkerEvents& events) {
  if (!guardian_) {
    if (Result<Guardian> guardian = Guardian::start(reaper_)) {
      guardian_.emplace(*std::move(guardian));
    }  // Without one we serve all the same; a machine that cannot fork will say so soon enough.
  }
  auto worker = std::make_unique<SbclWorker>(loop_, reaper_, images_, token(++lives_),
                                             checkpoint_heap(settings_), events);
  worker->await_copy(template_);
  return worker;
}

std::unique_ptr<Worker> SbclSource::resume(std::unique_ptr<Frozen> frozen, WorkerEvents& events) {
  auto worker = std::make_unique<SbclWorker>(loop_, reaper_, images_, token(++lives_),
                                             checkpoint_heap(settings_), events);
  worker->take_over(static_cast<FrozenSbcl&>(*frozen), Origin::kCheckpoint);  // We make no others.
  return worker;
}

std::unique_ptr<Worker> SbclSource::start_image(WorkerEvents& events) {
  auto process = std::make_unique<SbclWorker>(loop_, reaper_, images_, token(0), 0, events);
  process->find_image(guardian_ ? guardian_->token() : "", settings_.heap_megabytes);
  return process;
}

/// What marks all that belongs to one life of a worker. Always of one length, since each copy
/// writes its own over that of the process it was copied from.
std::string SbclSource::token(std::uint64_t life) const {
  return fmt::format("{}.{:010}", guardian_ ? guardian_->token() : "", life);
}

}  // namespace clmcp::worker
