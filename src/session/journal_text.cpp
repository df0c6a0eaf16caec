#include "session/journal_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/limits.h"
#include "worker/worker.h"

namespace clmcp::session {
namespace {

constexpr std::string_view kBegin = ";;; ";
constexpr std::string_view kDot = " · ";
constexpr std::string_view kCheck = " · check ";
constexpr std::size_t kCheckDigits = 16;
constexpr std::string_view kOwnerLine = "cl-mcp-server journal 1";

std::string check_of(std::string_view head, std::string_view body) {
  return fmt::format("{:016x}", hash(body, hash(head)));
}

/// Builds one record: its first line and, beside it, the parts that the line announces.
class RecordPrinter {
 public:
  explicit RecordPrinter(std::string_view subject) : head_(fmt::format("{}{}", kBegin, subject)) {}

  void word(std::string_view text) {
    head_ += kDot;
    head_ += text;
  }

  void part(std::string_view name, std::string_view text) {
    word(fmt::format("{} {}", name, text.size()));
    add(text);
  }

  /// Two parts that belong together.
  void parts(std::string_view name, std::string_view text, std::string_view joint,
             std::string_view other) {
    word(fmt::format("{} {} {} {}", name, text.size(), joint, other.size()));
    add(text);
    add(other);
  }

  [[nodiscard]] std::string text() const {
    return fmt::format("{}{}{}\n{}", head_, kCheck, check_of(head_, body_), body_);
  }

 private:
  void add(std::string_view text) {
    body_ += text;
    body_ += '\n';
  }

  std::string head_;
  std::string body_;
};

/// Reads one record. After something is not as announced, nothing more is given and damage() says
/// so: a whole record may be read as if all were well, and the question be asked at its end.
class RecordReader {
 public:
  explicit RecordReader(std::string_view text) : text_(text) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      damage_ = JournalDamage::kTorn;
      return;
    }
    const std::string_view line = text.substr(0, end);
    at_ = end + 1;
    const std::size_t tail = kCheck.size() + kCheckDigits;
    if (!line.starts_with(kBegin) || line.size() < kBegin.size() + tail ||
        !line.substr(line.size() - tail).starts_with(kCheck)) {
      spoil();
      return;
    }
    head_ = line.substr(0, line.size() - tail);
    check_ = line.substr(line.size() - kCheckDigits);
    left_ = head_.substr(kBegin.size());
  }

  /// The next piece of the first line, between two dots.
  std::string_view piece() {
    const std::size_t end = left_.find(kDot);
    const std::string_view result = left_.substr(0, end);
    left_ = end == std::string_view::npos ? "" : left_.substr(end + kDot.size());
    return result;
  }

  [[nodiscard]] bool more() const { return damage_ == JournalDamage::kNone && !left_.empty(); }

  std::uint64_t number(std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      spoil();
    }
    return value;
  }

  /// The next part of the record, `digits` bytes long.
  std::string part(std::string_view digits) {
    const std::uint64_t size = number(digits);
    if (damage_ != JournalDamage::kNone) {
      return {};
    }
    if (size >= text_.size() - at_) {  // A line break must fit behind it.
      damage_ = JournalDamage::kTorn;
      return {};
    }
    std::string result(text_.substr(at_, size));
    at_ += size + 1;
    if (text_[at_ - 1] != '\n') {
      spoil();
    }
    return result;
  }

  void spoil() {
    if (damage_ == JournalDamage::kNone) {
      damage_ = JournalDamage::kSpoiled;
    }
  }

  /// To be asked at the end of the record.
  [[nodiscard]] JournalDamage damage() {
    const std::size_t body = head_.size() + kCheck.size() + kCheckDigits + 1;
    if (damage_ == JournalDamage::kNone &&
        check_of(head_, text_.substr(body, at_ - body)) != check_) {
      spoil();
    }
    return damage_;
  }

  /// Where the next record begins.
  [[nodiscard]] std::size_t end() const { return at_; }

 private:
  std::string_view text_;
  std::string_view head_;
  std::string_view check_;
  std::string_view left_;
  std::size_t at_ = 0;
  JournalDamage damage_ = JournalDamage::kNone;
};

std::vector<std::string_view> words_of(std::string_view piece) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= piece.size();) {
    const std::size_t end = std::min(piece.find(' ', at), piece.size());
    words.push_back(piece.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// Reads the part of an entry that `words` announce.
void read_field(RecordReader& reader, const std::vector<std::string_view>& words,
                JournalEntry& entry) {
  const std::string_view name = words.front();
  if (words.size() == 2 && name == "code") {
    entry.code = reader.part(words[1]);
  } else if (words.size() == 2 && name == "package") {
    entry.package = reader.part(words[1]);
  } else if (words.size() == 2 && name == "outcome") {
    entry.outcome = reader.part(words[1]);
  } else if (words.size() == 4 && name == "definition") {
    std::string text = reader.part(words[1]);
    entry.definitions.push_back({.text = std::move(text), .package = reader.part(words[3])});
  } else if (words.size() == 1 && name == "systems") {
    entry.systems.emplace();
  } else if ((words.size() == 2 || words.size() == 4) && name == "system" && entry.systems) {
    worker::SystemRef system{.name = reader.part(words[1]), .definition = std::nullopt};
    if (words.size() == 4) {
      system.definition = reader.part(words[3]);
    }
    entry.systems->push_back(std::move(system));
  } else {
    reader.spoil();
  }
}

JournalRecord read_record(RecordReader& reader) {
  const std::vector<std::string_view> subject = words_of(reader.piece());
  JournalRecord record;
  record.time = reader.piece();
  if (subject.size() != 3) {
    reader.spoil();
    return record;
  }
  record.after = reader.number(subject[2]);
  if (subject[0] == "back" && subject[1] == "to") {
    return record;
  }
  if (subject[1] != "after") {
    reader.spoil();
  }
  JournalEntry entry;
  entry.number = reader.number(subject[0]);
  entry.kind = reader.piece();
  while (reader.more()) {
    read_field(reader, words_of(reader.piece()), entry);
  }
  record.entry = std::move(entry);
  return record;
}

JournalOwner read_owner(RecordReader& reader) {
  JournalOwner owner;
  if (reader.piece() != kOwnerLine) {
    reader.spoil();
    return owner;
  }
  const std::vector<std::string_view> words = words_of(reader.piece());
  if (words.size() != 4 || words.front() != "session") {
    reader.spoil();
    return owner;
  }
  owner.session = reader.part(words[1]);
  owner.directory = reader.part(words[3]);
  return owner;
}

/// The way from a fresh state to the last one.
struct Path {
  std::vector<std::size_t> records = {};  ///< indices, the oldest first
  std::uint64_t tip = 0;
  std::optional<std::string> remark = {};
};

/// Follows the states from the first record to the last.
class PathFinder {
 public:
  explicit PathFinder(const std::vector<JournalRecord>& records) : parents_(records.size()) {
    for (std::size_t at = 0; at < records.size(); ++at) {
      const JournalRecord& record = records[at];
      const std::optional<std::size_t> parent = state(record.after);
      if (record.entry) {
        parents_[at] = parent;
        known_[record.entry->number] = at;
        tip_ = at;
        path_.tip = record.entry->number;
      } else {
        tip_ = parent;
        path_.tip = record.after;
      }
    }
  }

  Path path() && {
    for (std::optional<std::size_t> at = tip_; at; at = parents_[*at]) {
      path_.records.push_back(*at);
    }
    std::ranges::reverse(path_.records);
    return std::move(path_);
  }

 private:
  /// The entry that made the state with this number; nothing for a fresh one. A compacted journal
  /// may know only those before it.
  std::optional<std::size_t> state(std::uint64_t number) {
    const auto next = known_.upper_bound(number);
    const bool found = next != known_.begin();
    if (number != 0 && (!found || std::prev(next)->first != number)) {
      path_.remark = fmt::format(
          "The journal has no state {} any more; it goes on from the one before that it has.",
          number);
    }
    return found ? std::optional(std::prev(next)->second) : std::nullopt;
  }

  std::map<std::uint64_t, std::size_t> known_;  // Later ones of the same number hide earlier ones.
  std::vector<std::optional<std::size_t>> parents_;
  std::optional<std::size_t> tip_;
  Path path_;
};

Path find_path(const std::vector<JournalRecord>& records) {
  return PathFinder(records).path();
}

std::optional<std::string> remark_on(JournalDamage damage, std::size_t records) {
  switch (damage) {
    case JournalDamage::kNone:
      return std::nullopt;
    case JournalDamage::kTorn:
      return "The journal's last record is not whole; it was left out.";
    case JournalDamage::kSpoiled:
      return fmt::format(
          "The journal is damaged behind its first {} records; the rest was left out.", records);
  }
  return std::nullopt;
}

/// Cut between characters, so that the journal stays text.
std::string_view beginning(std::string_view text) {
  std::size_t end = std::min(text.size(), limits::kJournalOutcomeBytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

bool matters(const JournalEntry& entry) {
  return !entry.definitions.empty() || entry.systems;
}

JournalRecord stripped(const JournalRecord& record) {
  JournalRecord result{.after = record.after, .time = record.time, .entry = record.entry};
  if (result.entry) {
    result.entry->code.clear();
    result.entry->outcome.clear();
    result.entry->package.reset();
  }
  return result;
}

std::string print_live(const JournalText& text) {
  const Path path = find_path(text.records);
  std::string printed;
  std::uint64_t after = 0;
  for (const std::size_t at : path.records) {
    JournalRecord record = stripped(text.records[at]);
    if (matters(*record.entry) || record.entry->number == path.tip) {
      record.after = std::exchange(after, record.entry->number);
      printed += print_record(record);
    }
  }
  return printed;
}

}  // namespace

std::string print_owner(const JournalOwner& owner) {
  RecordPrinter printer(kOwnerLine);
  printer.parts("session", owner.session, "in", owner.directory);
  return printer.text();
}

std::string print_record(const JournalRecord& record) {
  if (!record.entry) {
    RecordPrinter printer(fmt::format("back to {}", record.after));
    printer.word(record.time);
    return printer.text();
  }
  const JournalEntry& entry = *record.entry;
  RecordPrinter printer(fmt::format("{} after {}", entry.number, record.after));
  printer.word(record.time);
  printer.word(entry.kind);
  if (!entry.code.empty()) {
    printer.part("code", entry.code);
  }
  if (entry.package) {
    printer.part("package", *entry.package);
  }
  if (!entry.outcome.empty()) {
    printer.part("outcome", beginning(entry.outcome));
  }
  for (const worker::Definition& definition : entry.definitions) {
    printer.parts("definition", definition.text, "in", definition.package);
  }
  if (entry.systems) {
    printer.word("systems");
    for (const worker::SystemRef& system : *entry.systems) {
      if (system.definition) {
        printer.parts("system", system.name, "at", *system.definition);
      } else {
        printer.part("system", system.name);
      }
    }
  }
  return printer.text();
}

JournalText parse_journal(std::string_view text) {
  JournalText journal;
  while (journal.good_bytes < text.size() && journal.damage == JournalDamage::kNone) {
    RecordReader reader(text.substr(journal.good_bytes));
    const bool first = journal.good_bytes == 0;
    JournalRecord record;
    JournalOwner owner;
    if (first) {
      owner = read_owner(reader);
    } else {
      record = read_record(reader);
    }
    journal.damage = reader.damage();
    if (journal.damage != JournalDamage::kNone) {
      break;
    }
    journal.good_bytes += reader.end();
    if (first) {
      journal.owner = std::move(owner);
    } else {
      journal.records.push_back(std::move(record));
    }
  }
  return journal;
}

History make_history(const JournalText& text) {
  Path path = find_path(text.records);
  History history{.owner = text.owner, .tip = path.tip, .remark = std::move(path.remark)};
  for (const JournalRecord& record : text.records) {
    history.time = record.time;
    if (record.entry) {
      history.last_number = std::max(history.last_number, record.entry->number);
    }
  }
  for (const std::size_t at : path.records) {
    const JournalEntry& entry = *text.records[at].entry;
    history.live.push_back(entry);
    if (entry.systems) {
      history.systems = *entry.systems;
    }
  }
  if (std::optional<std::string> remark = remark_on(text.damage, text.records.size())) {
    history.remark = history.remark ? fmt::format("{} {}", *remark, *history.remark) : *remark;
  }
  return history;
}

std::string print_compact(const JournalText& text, bool only_live) {
  std::string printed = print_owner(text.owner);
  if (only_live) {
    return printed + print_live(text);
  }
  for (const JournalRecord& record : text.records) {
    printed += print_record(stripped(record));
  }
  return printed;
}

}  // namespace clmcp::session
