#include "app/options.h"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <expected>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "app/exit_code.h"
#include "app/version.h"
#include "base/limits.h"
#include "base/log.h"

namespace clmcp::app {
namespace {

constexpr std::string_view kDescription =
    "A persistent Common Lisp REPL for AI coding agents.\n\n"
    "With standard input a pipe it speaks the Model Context Protocol there and on standard "
    "output;\n"
    "at a terminal it opens a small REPL on the same machinery. The Lisp process is started by "
    "the\n"
    "first evaluation.\n";

constexpr std::string_view kFooter =
    "\nEnvironment:\n"
    "  CL_MCP_LISP       the same as --lisp\n"
    "  CL_MCP_QUICKLISP  path of the setup.lisp of a Quicklisp that is not in its usual place\n"
    "  XDG_CACHE_HOME    where images for --lisp are kept (default: ~/.cache)\n"
    "  XDG_STATE_HOME    where journals are kept (default: ~/.local/state)\n"
    "\nExit codes:\n"
    "  0 done, or told to stop   2 unknown flag          3 unusable --image\n"
    "  4 unwritable output       5 unusable --log-file   6 refused by the operating system\n"
    "  7 no such journal, or one that cannot be used\n"
    "\nConnect Claude Code with:  claude mcp add lisp -- /path/to/cl-mcp-server\n";

const std::map<std::string, LogLevel> kLevels = {{"debug", LogLevel::kDebug},
                                                 {"info", LogLevel::kInfo},
                                                 {"warning", LogLevel::kWarning},
                                                 {"error", LogLevel::kError},
                                                 {"off", LogLevel::kOff}};

/// What the flags of the journal say, as it is typed.
struct JournalFlags {
  bool off = false;
  std::size_t megabytes = limits::kJournalBytes / limits::kMiB;
};

void add_journal_flags(CLI::App& command_line, Options& options, JournalFlags& flags) {
  CLI::Option* off = command_line.add_flag(
      "--no-journal", flags.off,
      "Keep no journal: what is defined is gone with the server, and nothing is written down");
  command_line
      .add_option("--resume", options.resume,
                  "Start with the definitions of this session's journal, and go on with it")
      ->excludes(off)
      ->type_name("NAME");
  command_line
      .add_option("--journal-size", flags.megabytes,
                  "Compact a session's journal beyond this size (default: 16)")
      ->check(CLI::Range(1, 4096))
      ->type_name("MB");
}

CLI::App* add_export(CLI::App& command_line, Options& options) {
  CLI::App* command = command_line.add_subcommand(
      "export", "Write the definitions in a session's journal as a file that Lisp can load");
  command
      ->add_option("name", options.exported,
                   "The session, such as default; default.1 is its life before that")
      ->required()
      ->type_name("NAME");
  command->add_option("--output", options.export_to, "Write to this file, not standard output")
      ->type_name("FILE");
  return command;
}

}  // namespace

std::expected<Options, ExitCode> parse_options(int argc, const char* const* argv) {
  Options options;
  long grace = options.exit_grace.count();
  std::string level = "warning";
  JournalFlags journal;

  CLI::App command_line{std::string(kDescription), "cl-mcp-server"};
  command_line.footer(std::string(kFooter));
  command_line.set_version_flag("--version", fmt::format("cl-mcp-server {}", kVersion));
  command_line
      .add_option("--lisp", options.lisp, "Use this SBCL; its worker image is made once and kept")
      ->envname("CL_MCP_LISP")
      ->type_name("PATH");
  command_line.add_option("--image", options.image, "Use this worker image")->type_name("PATH");
  command_line
      .add_option("--exit-grace", grace,
                  "After the end of input, wait this long for running calls (default: 10)")
      ->check(CLI::Range(0, 86'400))
      ->type_name("SECONDS");
  command_line
      .add_option("--log-level", level,
                  "Log what is at least this: debug, info, warning (default), error, off")
      ->check([](const std::string& word) -> std::string {
        return kLevels.contains(word) ? "" : "it must be debug, info, warning, error or off";
      })
      ->type_name("LEVEL");
  command_line.add_option("--log-file", options.log_file, "Log to this file, not standard error")
      ->type_name("PATH");
  add_journal_flags(command_line, options, journal);
  const CLI::App* tools =
      command_line.add_subcommand("tools", "Print the reference page of the tools, in Markdown");
  const CLI::App* exporting = add_export(command_line, options);

  try {
    command_line.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    (void)command_line.exit(asked);
    return std::unexpected(std::cout.flush() ? ExitCode::kOk : ExitCode::kOutput);
  } catch (const CLI::Error& mistake) {
    fmt::print(stderr, "cl-mcp-server: {}. 'cl-mcp-server --help' shows what there is.\n",
               mistake.what());
    return std::unexpected(ExitCode::kUsage);
  }
  options.exit_grace = std::chrono::seconds(grace);
  options.log_level = kLevels.at(level);
  options.journal = !journal.off;
  options.journal_bytes = journal.megabytes * limits::kMiB;
  if (options.lisp && options.lisp->empty()) {
    options.lisp.reset();  // An empty variable is as good as none.
  }
  if (*tools) {
    options.command = Options::Command::kTools;
  } else if (*exporting) {
    options.command = Options::Command::kExport;
  }
  return options;
}

}  // namespace clmcp::app
