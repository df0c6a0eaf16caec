#include "app/options.h"

#include <chrono>
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
    "\nExit codes:\n"
    "  0 done, or told to stop   2 unknown flag          3 unusable --image\n"
    "  4 unwritable output       5 unusable --log-file   6 refused by the operating system\n"
    "\nConnect Claude Code with:  claude mcp add lisp -- /path/to/cl-mcp-server\n";

const std::map<std::string, LogLevel> kLevels = {{"debug", LogLevel::kDebug},
                                                 {"info", LogLevel::kInfo},
                                                 {"warning", LogLevel::kWarning},
                                                 {"error", LogLevel::kError},
                                                 {"off", LogLevel::kOff}};

}  // namespace

std::expected<Options, ExitCode> parse_options(int argc, const char* const* argv) {
  Options options;
  long grace = options.exit_grace.count();
  std::string level = "warning";

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
  const CLI::App* tools =
      command_line.add_subcommand("tools", "Print the reference page of the tools, in Markdown");

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
  if (options.lisp && options.lisp->empty()) {
    options.lisp.reset();  // An empty variable is as good as none.
  }
  if (*tools) {
    options.command = Options::Command::kTools;
  }
  return options;
}

}  // namespace clmcp::app
