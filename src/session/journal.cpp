#include "session/journal.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/result.h"
#include "session/journal_files.h"
#include "session/journal_text.h"

namespace clmcp::session {
namespace {

namespace fs = std::filesystem;

std::string time_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

std::unexpected<Error> no_journal(const fs::path& path) {
  return std::unexpected(
      Error{.code = ErrorCode::kInvalid,
            .message = fmt::format("{} is not a journal that can be read", path.native())});
}

/// Cuts off what cannot be read, so that what is written next can be. Damage is not ours to throw
/// away; a torn end is nothing to keep.
Result<void> mend(const HeldJournal& journal, const JournalText& text) {
  if (text.damage == JournalDamage::kSpoiled) {
    std::error_code error;
    const fs::path kept = journal.path.native() + ".damaged";
    fs::copy_file(journal.path, kept, fs::copy_options::overwrite_existing, error);
    if (error) {
      return std::unexpected(
          Error{.code = ErrorCode::kSystem,
                .message = fmt::format("{}: {}", kept.native(), error.message())});
    }
  }
  if (::ftruncate(journal.file.get(), static_cast<off_t>(text.good_bytes)) != 0) {
    return std::unexpected(system_error(journal.path.native()));
  }
  return {};
}

}  // namespace

Result<History> read_journal(const fs::path& path) {
  const JournalText text = parse_journal(TRY(read_whole_file(path)));
  if (text.good_bytes == 0) {
    return no_journal(path);
  }
  return make_history(text);
}

Journal::Journal(JournalPlace place, std::string session, std::size_t most_bytes)
    : state_(State::kWaiting),
      place_(std::move(place)),
      session_(std::move(session)),
      most_bytes_(most_bytes) {}

Result<ResumedJournal> Journal::resume(const fs::path& path, std::size_t most_bytes) {
  HeldJournal file = TRY(hold_journal(path));
  const JournalText text = parse_journal(TRY(read_whole_file(path)));
  if (text.good_bytes == 0) {
    return no_journal(path);
  }
  TRY(mend(file, text));
  ResumedJournal resumed{.journal = {}, .history = make_history(text)};
  Journal& journal = resumed.journal;
  journal.state_ = State::kOpen;
  journal.most_bytes_ = most_bytes;
  journal.file_ = std::move(file);
  journal.size_ = text.good_bytes;
  journal.tip_ = resumed.history.tip;
  return resumed;
}

void Journal::record(const JournalEntry& entry) {
  if (state_ == State::kWaiting) {
    begin();
  }
  if (state_ == State::kOpen) {
    append(print_record({.after = tip_, .time = time_now(), .entry = entry}));
  }
  tip_ = entry.number;
}

void Journal::went_back_to(std::uint64_t number) {
  if (state_ == State::kOpen && number != tip_) {
    append(print_record({.after = number, .time = time_now(), .entry = std::nullopt}));
  }
  tip_ = number;
}

std::optional<std::string> Journal::take_trouble() {
  return std::exchange(trouble_, std::nullopt);
}

void Journal::begin() {
  Result<HeldJournal> file = create_journal(place_, session_);
  if (!file) {
    stop(file.error().message);
    return;
  }
  file_ = *std::move(file);
  state_ = State::kOpen;
  append(print_owner({.session = session_, .directory = place_.directory.native()}));
}

void Journal::append(const std::string& text) {
  const ssize_t written = ::write(file_.file.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    const std::string why = written < 0
                                ? system_error(file_.path.native()).message
                                : fmt::format("{}: there is no room for more", file_.path.native());
    // Where even this fails, half a record is left, and passed over by whoever reads it.
    (void)!::ftruncate(file_.file.get(), static_cast<off_t>(size_));
    stop(why);
    return;
  }
  size_ += text.size();
  if (size_ > most_bytes_) {
    compact();
  }
}

/// Writes the journal anew without what nobody needs to resume it. It must come out well below the
/// bound, or every few records would do this again.
void Journal::compact() {
  const Result<std::string> text = compact_text();
  if (!text) {
    stop(text.error().message);
    return;
  }
  if (text->size() > most_bytes_ / 2) {
    stop(
        fmt::format("{}: the definitions alone are more than half of what it may hold; "
                    "--journal-size allows more",
                    file_.path.native()));
    return;
  }
  Result<HeldJournal> file = replace_journal(file_, *text);
  if (!file) {
    stop(file.error().message);
    return;
  }
  file_ = *std::move(file);
  size_ = text->size();
}

Result<std::string> Journal::compact_text() const {
  const JournalText text = parse_journal(TRY(read_whole_file(file_.path)));
  std::string all = print_compact(text, false);
  return all.size() <= most_bytes_ / 2 ? std::move(all) : print_compact(text, true);
}

void Journal::stop(const std::string& why) {
  state_ = State::kOff;
  file_.file.reset();
  trouble_ = fmt::format(
      "This session's journal is not written any more ({}). What is defined from now on cannot be "
      "resumed when the server ends.",
      why);
}

}  // namespace clmcp::session
