#pragma once

#include <string>

#include "app/exit_code.h"
#include "app/options.h"
#include "app/paths.h"
#include "session/journal_text.h"

namespace clmcp::app {

/// A Lisp file that loads the session's systems and makes its definitions again, in their order and
/// as they were written, each in the package it was read in.
[[nodiscard]] std::string export_text(const session::History& history);

/// The subcommand: finds the journal and writes the file.
[[nodiscard]] ExitCode export_session(const Options& options, const Paths& paths);

}  // namespace clmcp::app
