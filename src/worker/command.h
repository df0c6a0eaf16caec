#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/child.h"
#include "worker/reaper.h"

namespace clmcp::worker {

/// What a command printed and how it ended.
struct CommandResult {
  ExitStatus status;
  std::string output;  // standard output and standard error, as they came
  bool timed_out = false;

  [[nodiscard]] bool succeeded() const {
    return !timed_out && status.exit_code == 0 && status.signal == 0;
  }
};

/// Runs one command to its end and gathers what it prints. Destroying it ends the command.
class Command {
 public:
  using Done = std::move_only_function<void(CommandResult)>;

  [[nodiscard]] static Result<std::unique_ptr<Command>> start(
      Loop& loop, Reaper& reaper, std::vector<std::string> argv,
      std::vector<std::pair<std::string, std::string>> environment, Duration limit, Done done);

 private:
  Command() = default;
  void drain();
  void finish(ExitStatus status);

  Fd output_;
  std::unique_ptr<FdEvents> output_events_;  // Before output_ in the order of destruction.
  std::optional<Child> child_;
  Timer limit_;
  CommandResult result_;
  Done done_;
};

}  // namespace clmcp::worker
