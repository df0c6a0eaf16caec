#pragma once

namespace clmcp::app {

/// How the program ends; `--help` lists them.
enum class ExitCode {
  kOk = 0,
  kUsage = 2,    ///< a flag that means nothing
  kImage = 3,    ///< the image named with --image cannot be used
  kOutput = 4,   ///< standard output cannot be written, such as on a full disk
  kLogFile = 5,  ///< the file named with --log-file cannot be opened
  kSystem = 6,   ///< the operating system refused what we cannot do without
  kJournal = 7,  ///< there is no journal of that name, or it cannot be used
};

}  // namespace clmcp::app
