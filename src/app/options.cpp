#include "app/options.h"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <expected>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "app/exit_code.h"
#include "app/version.h"
#include "base/limits.h"
#include "base/log.h"
#include "session/settings.h"

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

/// A limit that can be changed, in the unit in which it is typed.
struct LimitFlag {
  const char* name;
  const char* doc;
  const char* unit;
  std::size_t* value;
  std::size_t factor = 1;  // from what is typed to the value
  std::size_t least = 1;
  std::size_t most = 1'000'000;
  std::size_t typed = 0;
};

/// What is typed for durations.
struct Seconds {
  std::size_t wait = 0;
  std::size_t grace = 0;
};

std::vector<LimitFlag> limit_flags(Options& options, Seconds& seconds) {
  session::Settings& settings = options.settings;
  return {
      {.name = "--wait",
       .doc = "Answer a call that takes longer with a job number",
       .unit = "SECONDS",
       .value = &seconds.wait,
       .least = 0,
       .most = 86'400},
      {.name = "--interrupt-grace",
       .doc = "End the Lisp process of a call that has not stopped this long after its interrupt",
       .unit = "SECONDS",
       .value = &seconds.grace,
       .most = 3'600},
      {.name = "--budget",
       .doc = "Characters of a reply; read-output shows the rest",
       .unit = "N",
       .value = &options.budget,
       .least = limits::kLeastReplyCharacters,
       .most = limits::kMostReplyCharacters},
      {.name = "--keep-output",
       .doc = "Keep this much of a session's output for read-output, on disk",
       .unit = "MB",
       .value = &settings.kept_output,
       .factor = limits::kMiB},
      {.name = "--heap",
       .doc = "Heap of each Lisp process",
       .unit = "MB",
       .value = &options.lisps.heap_megabytes,
       .least = 256},
      {.name = "--checkpoint-heap",
       .doc = "Make no checkpoint while more of the heap is in use",
       .unit = "MB",
       .value = &options.lisps.checkpoint_heap_megabytes},
      {.name = "--sessions",
       .doc = "Sessions that may be open",
       .unit = "N",
       .value = &settings.sessions},
      {.name = "--queue",
       .doc = "Calls that may wait for one session",
       .unit = "N",
       .value = &settings.queued_calls},
      {.name = "--undo-depth",
       .doc = "Calls of a session that can be undone",
       .unit = "N",
       .value = &settings.undo_depth,
       .most = 1'000},
      {.name = "--checkpoints",
       .doc = "Named checkpoints of one session",
       .unit = "N",
       .value = &settings.named_checkpoints,
       .most = 1'000},
      {.name = "--checkpoint-memory",
       .doc = "Let the oldest checkpoints go when all together take more",
       .unit = "MB",
       .value = &settings.checkpoint_memory,
       .factor = limits::kMiB},
      {.name = "--journal-size",
       .doc = "Compact a session's journal beyond this size",
       .unit = "MB",
       .value = &settings.journal,
       .factor = limits::kMiB,
       .most = 4'096},
      {.name = "--message-size",
       .doc = "Refuse longer messages from the client",
       .unit = "MB",
       .value = &options.message_bytes,
       .factor = limits::kMiB,
       .most = 32},
  };
}

void add_limit_flags(CLI::App& command_line, std::vector<LimitFlag>& flags) {
  for (LimitFlag& flag : flags) {
    flag.typed = *flag.value / flag.factor;
    command_line
        .add_option(flag.name, flag.typed, fmt::format("{} (default: {})", flag.doc, flag.typed))
        ->check(CLI::Range(flag.least, flag.most))
        ->type_name(flag.unit);
  }
}

void add_journal_flags(CLI::App& command_line, Options& options, bool& no_journal) {
  CLI::Option* off = command_line.add_flag(
      "--no-journal", no_journal,
      "Keep no journal: what is defined is gone with the server, and nothing is written down");
  command_line
      .add_option("--resume", options.resume,
                  "Start with the definitions of this session's journal, and go on with it")
      ->excludes(off)
      ->type_name("NAME");
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
  bool no_journal = false;
  Seconds seconds = {.wait = static_cast<std::size_t>(limits::kWait.count()),
                     .grace = static_cast<std::size_t>(limits::kInterruptGrace.count())};
  std::vector<LimitFlag> limit = limit_flags(options, seconds);

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
  add_journal_flags(command_line, options, no_journal);
  add_limit_flags(command_line, limit);
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
  options.journal = !no_journal;
  for (const LimitFlag& flag : limit) {
    *flag.value = flag.typed * flag.factor;
  }
  options.wait = std::chrono::seconds(seconds.wait);
  options.settings.grace = std::chrono::seconds(seconds.grace);
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
