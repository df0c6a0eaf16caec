#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>

#include "app/exit_code.h"
#include "base/limits.h"
#include "base/log.h"
#include "session/settings.h"
#include "worker/sbcl_worker.h"

namespace clmcp::app {

/// The command line, and the environment variables that stand in for it.
struct Options {
  enum class Command {
    kServe,   ///< MCP on standard input and output, or a REPL at a terminal
    kTools,   ///< print the reference page of the tools
    kExport,  ///< write a session's definitions as a Lisp file
  };

  Command command = Command::kServe;
  std::optional<std::filesystem::path> lisp;
  std::optional<std::filesystem::path> image;
  std::chrono::seconds exit_grace = limits::kExitGrace;
  LogLevel log_level = LogLevel::kWarning;
  std::optional<std::filesystem::path> log_file;
  bool journal = true;
  session::Settings settings;
  worker::SbclSettings lisps;
  std::chrono::seconds wait = limits::kWait;
  std::size_t budget = limits::kReplyCharacters;
  std::size_t message_bytes = limits::kMessageBytes;
  std::optional<std::string> resume;               ///< the session to go on with
  std::string exported;                            ///< the session that kExport writes,
  std::optional<std::filesystem::path> export_to;  ///< and where; standard output if empty
};

/// Reads the command line. Where there is nothing left to do (--help, --version, a mistake), it has
/// said what is to be said, and the exit code is the answer.
[[nodiscard]] std::expected<Options, ExitCode> parse_options(int argc, const char* const* argv);

}  // namespace clmcp::app
