#include "app/repl.h"

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "app/balance.h"
#include "app/version.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"
#include "session/operation.h"
#include "session/session.h"
#include "tools/outcome_text.h"

namespace clmcp::app {
namespace {

constexpr std::string_view kHelp =
    "  (form)   evaluate it; a form may go over several lines\n"
    "  :help    this text\n"
    "  :undo    back to what was before the last evaluation\n"
    "  :reset   a fresh Lisp, with the loaded systems loaded again\n"
    "  :quit    leave, as does Ctrl-D\n"
    "  Ctrl-C   stop the evaluation that runs; a second time: end its Lisp process\n";

void say(std::string_view text) {
  fmt::print("{}", text);
  (void)std::fflush(stdout);  // A terminal that is gone ends us through its end of file.
}

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    return {};
  }
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

std::string text_of(const session::Outcome& outcome) {
  return tools::outcome_result(outcome, limits::kReplyCharacters).text + "\n\n";
}

}  // namespace

Repl::Repl(Loop& loop, Fd in, session::Session& session, Callback leave)
    : loop_(loop),
      in_(std::move(in)),
      session_(session),
      leave_(std::move(leave)),
      input_(loop, in_.get()) {
  input_.on_readable([this] { read(); });
}

void Repl::greet(std::string_view program) {
  say(
      fmt::format("cl-mcp-server {}: a persistent Common Lisp REPL for AI coding agents.\n"
                  "An agent talks to it through MCP; this is the same REPL for you.\n"
                  "Connect Claude Code with:  claude mcp add lisp -- {}\n"
                  ":help shows what there is, :quit leaves.\n\n",
                  kVersion, program));
  prompt();
}

void Repl::prompt() {
  const std::string& package = session_.package();
  const std::string_view name =
      package == "COMMON-LISP-USER" ? "CL-USER" : std::string_view(package);
  say(typed_.empty() ? fmt::format("{}> ", name) : std::string(name.size() + 2, ' '));
}

void Repl::interrupt() {
  if (running_) {
    session_.cancel(*running_);
    return;
  }
  typed_.clear();
  say("\n");
  prompt();
}

void Repl::read() {
  const IoStatus status = read_some(in_.get(), unread_, 64 * limits::kKiB);
  if (status == IoStatus::kWouldBlock) {
    return;
  }
  if (status != IoStatus::kOk) {
    say("\n");
    leave();
    return;
  }
  take_lines();
}

void Repl::leave() {
  leaving_ = true;
  input_.pause_reading();
  leave_();
}

void Repl::take_lines() {
  while (!running_) {
    const std::size_t end = unread_.find('\n');
    if (end == std::string::npos) {
      return;
    }
    const std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    take_line(line);
  }
}

void Repl::take_line(std::string_view line) {
  if (typed_.empty() && command(trimmed(line))) {
    return;
  }
  typed_ += line;
  typed_ += '\n';
  switch (balance_of(typed_)) {
    case Balance::kComplete:
      evaluate();
      return;
    case Balance::kEmpty:
      typed_.clear();
      break;
    case Balance::kOpen:
      break;
  }
  prompt();
}

/// Carries out a line that is a command of ours; other keywords are Lisp.
bool Repl::command(std::string_view line) {
  if (line == ":quit") {
    leave();
    return true;
  }
  if (line == ":help") {
    say(kHelp);
    prompt();
    return true;
  }
  if (line == ":reset") {
    running_ = session_.new_call();
    session_.reset(*running_, {}, [this](const session::Outcome& outcome) {
      finish(outcome.answer.condition ? text_of(outcome) : "; A fresh Lisp.\n\n");
    });
    return true;
  }
  if (line == ":undo") {
    running_ = session_.new_call();
    session_.undo(*running_, 1, {},
                  [this](const session::Outcome& outcome) { finish(text_of(outcome)); });
    return true;
  }
  return false;
}

void Repl::evaluate() {
  session::Operation operation("evaluate",
                               {.tool = "evaluate-lisp", .text = typed_, .changes_state = true});
  operation.add("code", std::exchange(typed_, {}));
  running_ = session_.new_call();
  session_.call(*running_, std::move(operation), {},
                [this](const session::Outcome& outcome) { finish(text_of(outcome)); });
}

void Repl::finish(std::string_view text) {
  running_.reset();
  if (leaving_) {
    return;
  }
  say(text);
  prompt();
  loop_.post([this] { take_lines(); });  // What was typed ahead.
}

}  // namespace clmcp::app
