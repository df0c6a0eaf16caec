#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace clmcp::session {

/// Where journals are: one folder below `root` for each directory that servers were started in.
struct JournalPlace {
  std::filesystem::path root;
  std::filesystem::path directory;

  /// Named after the directory, and different for every other.
  [[nodiscard]] std::filesystem::path folder() const;
};

/// A journal that this process holds: nobody else writes to it meanwhile.
struct HeldJournal {
  Fd file;  ///< open for appending, and locked
  std::filesystem::path path;
};

/// Makes a new, empty journal for `session`. An older one is moved aside, and one that another
/// server holds is left alone: then the new one has a number behind its name.
[[nodiscard]] Result<HeldJournal> create_journal(const JournalPlace& place,
                                                 const std::string& session);

/// Opens a journal that exists, to go on with it.
[[nodiscard]] Result<HeldJournal> hold_journal(const std::filesystem::path& path);

/// Puts `text` in the place of what the journal holds, all or nothing.
[[nodiscard]] Result<HeldJournal> replace_journal(const HeldJournal& journal,
                                                  const std::string& text);

[[nodiscard]] Result<std::string> read_whole_file(const std::filesystem::path& path);

/// The journal of the session or of the earlier life (`default.1`) that `name` means: of this
/// directory, or of another where only that one has it. The error says what there is.
[[nodiscard]] Result<std::filesystem::path> find_journal(const JournalPlace& place,
                                                         const std::string& name);

}  // namespace clmcp::session
