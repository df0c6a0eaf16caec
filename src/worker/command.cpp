#include "worker/command.h"

#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/child.h"
#include "worker/reaper.h"

namespace clmcp::worker {

Result<std::unique_ptr<Command>> Command::start(
    Loop& loop, Reaper& reaper, std::vector<std::string> argv,
    std::vector<std::pair<std::string, std::string>> environment, Duration limit, Done done) {
  FdPair pipe = TRY(make_pipe());
  Fd error_copy(::fcntl(pipe.theirs.get(), F_DUPFD_CLOEXEC, 0));
  if (!error_copy) {
    return std::unexpected(system_error("Cannot copy a descriptor"));
  }
  std::unique_ptr<Command> command(new Command);
  Command* self = command.get();
  command->done_ = std::move(done);
  // The child belongs to the command and is forgotten with it, so `self` is alive in both calls.
  command->child_ = TRY(Child::start({.argv = std::move(argv),
                                      .environment = std::move(environment),
                                      .output = std::move(pipe.theirs),
                                      .error = std::move(error_copy),
                                      .control = Fd()},
                                     reaper, [self](ExitStatus status) { self->finish(status); }));
  command->output_ = std::move(pipe.ours);
  command->output_events_ = std::make_unique<FdEvents>(loop, command->output_.get());
  command->output_events_->on_readable([self] { self->drain(); });
  command->limit_ = loop.after(limit, [self] {
    self->result_.timed_out = true;
    self->child_->kill_group();
  });
  return command;
}

void Command::drain() {
  IoStatus status = IoStatus::kOk;
  while (status == IoStatus::kOk) {
    status = read_some(output_.get(), result_.output, 64 * limits::kKiB);
    // A compiler that runs wild must not fill our memory; its last words matter most.
    if (result_.output.size() > limits::kMiB) {
      result_.output.erase(0, result_.output.size() - limits::kMiB);
    }
  }
  if (status != IoStatus::kWouldBlock) {
    output_events_->pause_reading();
  }
}

void Command::finish(ExitStatus status) {
  limit_.cancel();
  drain();
  result_.status = status;
  Done done = std::move(done_);
  done(std::move(result_));
}

}  // namespace clmcp::worker
