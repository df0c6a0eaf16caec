#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"
#include "session/session.h"

namespace clmcp::app {

/// A REPL for a person at a terminal, on the same session and with the same words as the tools.
class Repl {
 public:
  /// Reads from `in`, writes to standard output, and calls `leave` when the person is done.
  Repl(Loop& loop, Fd in, session::Session& session, Callback leave);

  /// Says what this is; `program` is for the line that connects Claude Code.
  void greet(std::string_view program);

  /// Ctrl-C: stops the evaluation that runs, or forgets what was typed.
  void interrupt();

 private:
  void read();
  void leave();
  void take_lines();
  void take_line(std::string_view line);
  bool command(std::string_view line);
  void evaluate();
  void finish(std::string_view text);
  void prompt();

  Loop& loop_;
  Fd in_;
  session::Session& session_;
  Callback leave_;
  std::string unread_;
  std::string typed_;
  std::optional<session::CallId> running_;
  bool leaving_ = false;
  FdEvents input_;
};

}  // namespace clmcp::app
