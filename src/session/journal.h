#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "session/journal_files.h"
#include "session/journal_text.h"

namespace clmcp::session {

/// What a journal says of its session.
[[nodiscard]] Result<History> read_journal(const std::filesystem::path& path);

struct ResumedJournal;

/// The file in which a session writes down what it does, so that it can be resumed. Each record is
/// one write(2): a server killed at any moment leaves all that were made. What goes wrong with the
/// file never disturbs the session; take_trouble() tells of it.
class Journal {
 public:
  /// Keeps nothing.
  Journal() = default;

  /// A new journal. Its file is made, and an older one moved aside, with the first record.
  Journal(JournalPlace place, std::string session, std::size_t most_bytes = limits::kJournalBytes);

  /// Goes on with a journal that exists. What could not be read of it is cut off.
  [[nodiscard]] static Result<ResumedJournal> resume(
      const std::filesystem::path& path, std::size_t most_bytes = limits::kJournalBytes);

  /// Writes down a call; the session is now what it was after it. Numbers grow: a resumed journal
  /// goes on behind History::last_number, from the state History::tip.
  void record(const JournalEntry& entry);

  /// What follows is made from the state after the call of this number; 0 is a fresh Lisp. A reset
  /// that keeps systems is this, and then a record of its own with those systems.
  void went_back_to(std::uint64_t number);

  /// Why nothing is written any more, as a sentence; once.
  [[nodiscard]] std::optional<std::string> take_trouble();

  /// The file, as soon as there is one.
  [[nodiscard]] const std::filesystem::path& path() const { return file_.path; }

 private:
  enum class State {
    kOff,      ///< nothing is written, or nothing any more
    kWaiting,  ///< there is no file yet
    kOpen,
  };

  void begin();
  void append(const std::string& text);
  void compact();
  [[nodiscard]] Result<std::string> compact_text() const;
  void stop(const std::string& why);

  State state_ = State::kOff;
  JournalPlace place_;
  std::string session_;
  std::size_t most_bytes_ = limits::kJournalBytes;
  HeldJournal file_;
  std::size_t size_ = 0;
  std::uint64_t tip_ = 0;
  std::optional<std::string> trouble_;
};

struct ResumedJournal {
  Journal journal;
  History history;
};

}  // namespace clmcp::session
