#include "app/app.h"

#include <cstdio>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/core.h>

#include "app/exit_code.h"
#include "app/export.h"
#include "app/options.h"
#include "app/paths.h"
#include "app/repl.h"
#include "app/version.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/result.h"
#include "mcp/server.h"
#include "session/journal.h"
#include "session/journal_files.h"
#include "session/session.h"
#include "session/sessions.h"
#include "tools/tool_set.h"
#include "transport/stdio.h"
#include "worker/image.h"
#include "worker/reaper.h"
#include "worker/sbcl_worker.h"

namespace clmcp::app {
namespace {

ExitCode complain(ExitCode code, const std::string& sentence) {
  fmt::print(stderr, "cl-mcp-server: {}\n", sentence);
  return code;
}

/// What is closed at the start would be given to the first thing we open, and then be read and
/// written as if it were the client. A closed input is an empty one; without an output there is
/// nothing to do.
Result<void> open_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) {
      Fd null(::open("/dev/null", O_RDWR));
      if (!null || ::dup2(null.get(), fd) != fd) {
        return std::unexpected(system_error("Cannot open /dev/null"));
      }
      if (null.get() == fd) {
        (void)null.release();  // It landed just there.
      }
    }
  }
  if (::fcntl(STDOUT_FILENO, F_GETFD) < 0) {
    return std::unexpected(system_error("Cannot write to standard output"));
  }
  return {};
}

session::JournalPlace journal_place(const Paths& paths) {
  std::error_code ignored;  // Where there is no current directory, there is no journal to share.
  return {.root = paths.journals, .directory = std::filesystem::current_path(ignored)};
}

/// The two towers and the bridge, built from the bottom up.
class Program {
 public:
  Program(const Options& options, const Paths& paths, Log log)
      : options_(options),
        log_(std::move(log)),
        images_(loop_, reaper_,
                {.image = options.image.value_or(paths.image),
                 .lisp = options.image ? std::nullopt : options.lisp,
                 .agent = paths.agent,
                 .cache = paths.cache}),
        workers_(loop_, reaper_, images_, options.lisps),
        sessions_(workers_, loop_, log_, options.settings,
                  options.journal ? std::optional(journal_place(paths)) : std::nullopt),
        server_({.name = "cl-mcp-server",
                 .title = "Common Lisp REPL",
                 .version = std::string(kVersion),
                 .instructions = std::string(tools::instructions())},
                tools::build_tool_set(
                    {.sessions = sessions_, .wait = options.wait, .budget = options.budget})) {
    if (options.resume) {
      resume(*options.resume, journal_place(paths));
    }
  }

  ExitCode serve() {
    Result<Fd> in = private_descriptor(STDIN_FILENO, O_RDONLY);
    Result<Fd> out = private_descriptor(STDOUT_FILENO, O_WRONLY);
    if (!in || !out) {
      return complain(ExitCode::kSystem, (in ? out : in).error().message + ".");
    }
    transport::Stdio stdio(loop_, *std::move(in), *std::move(out), server_, log_,
                           options_.message_bytes);
    stdio.on_input_end([this] {
      log_.info("input ended");
      grace_ = loop_.after(options_.exit_grace, [this] {
        sessions_.close_all("The server's input ended, and this call took longer than the grace.");
        // The answers are on their way; a reader who does not read them is not waited for.
        grace_ = loop_.after(Duration(1000), [this] { leave(ExitCode::kOk); });
      });
    });
    stdio.on_idle([this] { leave(ExitCode::kOk); });
    stdio.on_output_gone([this] {
      log_.info("nobody reads the output");
      leave(ExitCode::kOk);
    });
    stdio.on_output_error(
        [this](const Error& error) { leave(complain(ExitCode::kOutput, error.message + ".")); });
    loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int number) {
      log_.info("signal", {{"number", number}});
      leave(ExitCode::kOk);
    });
    return run();
  }

  ExitCode talk(const Paths& paths) {
    Result<Fd> in = private_descriptor(STDIN_FILENO, O_RDONLY);
    if (!in) {
      return complain(ExitCode::kSystem, in.error().message + ".");
    }
    const std::shared_ptr<session::Session> session = *sessions_.find(std::nullopt);
    Repl repl(loop_, *std::move(in), *session, [this] { leave(ExitCode::kOk); });
    loop_.on_signals({SIGINT}, [&repl](int) { repl.interrupt(); });
    loop_.on_signals({SIGTERM, SIGHUP}, [this](int) { leave(ExitCode::kOk); });
    repl.greet(paths.program.native());
    return run();
  }

  void print_tools() const { fmt::print("{}", tools::reference_page(server_.tools())); }

 private:
  ExitCode run() {
    loop_.run();
    // While whoever asked can still be told.
    sessions_.close_all("The server was told to stop.");
    return exit_code_;
  }

  /// Goes on with a journal. Where that cannot be, the session starts empty and says why: a client
  /// that names a journal in its configuration must start the first time too.
  void resume(const std::string& name, const session::JournalPlace& place) {
    const auto resumed = [&]() -> Result<session::ResumedJournal> {
      const std::filesystem::path path = TRY(session::find_journal(place, name));
      return session::Journal::resume(path, options_.settings.journal);
    };
    if (Result<session::ResumedJournal> journal = resumed()) {
      sessions_.resume_default(*std::move(journal));
    } else {
      sessions_.tell_default(fmt::format("The session starts empty: {}", journal.error().message));
    }
  }

  void leave(ExitCode code) {
    exit_code_ = code;
    loop_.stop();
  }

  Options options_;
  Loop loop_;
  Log log_;
  worker::Reaper reaper_{loop_};  // Ends whatever is left, after all below are gone.
  worker::ImageFinder images_;
  worker::SbclSource workers_;
  session::Sessions sessions_;
  mcp::Server server_;
  Timer grace_;
  ExitCode exit_code_ = ExitCode::kOk;
};

}  // namespace

ExitCode run(const Options& options) {
  if (const Result<void> open = open_standard_descriptors(); !open) {
    return complain(ExitCode::kOutput, open.error().message + ".");
  }
  // A reader that is gone is an error of write(2), not the end of us.
  (void)::signal(SIGPIPE, SIG_IGN);
  // And so is a file that may not grow any more.
  (void)::signal(SIGXFSZ, SIG_IGN);
  raise_descriptor_limit();

  if (options.image && !worker::is_usable_image(*options.image)) {
    return complain(ExitCode::kImage, fmt::format("{} is not a worker image that can be run.",
                                                  options.image->native()));
  }
  Log log(options.log_level, STDERR_FILENO);
  if (options.log_file) {
    Fd file(::open(options.log_file->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file) {
      const Error error = system_error(options.log_file->native());
      return complain(ExitCode::kLogFile, fmt::format("Cannot open the log {}.", error.message));
    }
    log = Log(options.log_level, std::move(file));
  }
  const Paths paths = find_paths();
  if (options.command == Options::Command::kExport) {
    return export_session(options, paths);
  }
  Program program(options, paths, std::move(log));
  if (options.command == Options::Command::kTools) {
    program.print_tools();
    return std::fflush(stdout) == 0
               ? ExitCode::kOk
               : complain(ExitCode::kOutput,
                          system_error("Cannot write to standard output").message + ".");
  }
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  return terminal ? program.talk(paths) : program.serve();
}

}  // namespace clmcp::app
