#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/worker.h"

/// How a journal is written. It is text to be read by people; a record is
///
///     ;;; 12 after 11 · 2026-11-15T06:30:00Z · evaluate-lisp · code 15 · outcome 9 ·
///         definition 15 in 7 · check 8e4f02ab61d3c590
///     (defun f () 1)
///     ...
///
/// its first line in one, with the length in bytes of each part that follows; a line break stands
/// behind each part. So whatever code contains, it is not taken for a record. The check is a hash
/// of the record without it. `;;; back to 11 · …` says that what follows was made from the state
/// after 11. The first record names the session and the directory.
namespace clmcp::session {

/// One call that a session carried out.
struct JournalEntry {
  std::uint64_t number = 0;
  std::string kind = {};  ///< a word: the tool that was called
  std::string code = {};
  std::optional<std::string> package = {};
  std::string outcome = {};  ///< what the reply said; only its beginning is kept
  std::vector<worker::Definition> definitions = {};
  /// All systems that are loaded now; only where the call changed that.
  std::optional<std::vector<worker::SystemRef>> systems = {};
};

/// Whose journal it is.
struct JournalOwner {
  std::string session;
  std::string directory;
};

/// An entry, or the word that the session went back.
struct JournalRecord {
  std::uint64_t after = 0;  ///< the state it was made from, or gone back to; 0 is a fresh one
  std::string time = {};
  std::optional<JournalEntry> entry = {};
};

[[nodiscard]] std::string print_owner(const JournalOwner& owner);
[[nodiscard]] std::string print_record(const JournalRecord& record);

/// Why a journal could not be read to its end.
enum class JournalDamage {
  kNone,
  kTorn,     ///< it ends within a record: the server was ended while it wrote
  kSpoiled,  ///< something is not what was written
};

/// A journal as far as it can be read.
struct JournalText {
  JournalOwner owner = {};
  std::vector<JournalRecord> records = {};
  std::size_t good_bytes = 0;  ///< where the first bad record begins
  JournalDamage damage = JournalDamage::kNone;
};

[[nodiscard]] JournalText parse_journal(std::string_view text);

/// What a session is, by its journal: the entries on the way from a fresh state to the last one.
struct History {
  JournalOwner owner = {};
  std::vector<JournalEntry> live = {};
  std::vector<worker::SystemRef> systems = {};  ///< those loaded at the end of it
  std::uint64_t tip = 0;                        ///< the number of the state it ends in
  std::uint64_t last_number = 0;                ///< the greatest one given
  std::string time = {};                        ///< when the last record was written
  /// What is not as it should be, as a sentence.
  std::optional<std::string> remark = {};
};

[[nodiscard]] History make_history(const JournalText& text);

/// The records a journal needs to be resumed, without code and outcomes. Those that are not live
/// stay for as long as a session may go back to them, unless `only_live`.
[[nodiscard]] std::string print_compact(const JournalText& text, bool only_live);

}  // namespace clmcp::session
