#include "session/output.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/cut.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "session/lines.h"
#include "session/spool.h"

namespace clmcp::session {
namespace {

/// Less would not hold whole lines on both sides of a gap.
constexpr std::size_t kLeastKept = 16 * limits::kOutputLineBytes;

/// Between two entries of the index: one small read. Two fit into either half of what is kept in
/// memory when the disk is full.
constexpr std::size_t kIndexBytes = 64 * limits::kKiB;

constexpr std::size_t kLastLineBytes = 200;
constexpr std::size_t kLastLineWindow = 4 * limits::kKiB;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Looks for a text in lines, whatever the case of its ASCII letters.
class Search {
 public:
  explicit Search(std::string_view text) : text_(text) {
    std::ranges::transform(text_, text_.begin(), lower);
  }

  /// Whether it begins in that line. It may go on in the next where the line was just too long.
  bool finds(const LineReader::Line& line) {
    if (line.and_after.size() < text_.size()) {
      return false;
    }
    const std::string_view where = line.and_after.substr(0, line.text.size() + text_.size() - 1);
    lowered_.resize(where.size());
    std::ranges::transform(where, lowered_.begin(), lower);
    return lowered_.find(text_) != std::string::npos;
  }

 private:
  std::string text_;
  std::string lowered_;
};

std::string_view without_newline(std::string_view line) {
  return line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
}

}  // namespace

OutputLog::OutputLog(std::size_t kept_bytes)
    : index_bytes_(std::min(kIndexBytes, std::max(kept_bytes, kLeastKept) / 16)),
      spool_(std::max(kept_bytes, kLeastKept)) {}

void OutputLog::append(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  std::uint64_t offset = size();
  spool_.append(bytes);
  if (index_.empty()) {
    index_.emplace_back();
  }
  while (!bytes.empty()) {
    const LineCutter::Step step = cutter_.step(bytes);
    bytes.remove_prefix(step.bytes);
    offset += step.bytes;
    if (step.ends) {
      ++ended_lines_;
      note_line({.line = ended_lines_ + 1, .offset = offset});
    }
  }
}

void OutputLog::note_line(LineStart start) {
  if (start.offset - index_.back().offset < index_bytes_) {
    return;
  }
  index_.push_back(start);
  const auto begin = std::ranges::upper_bound(index_, spool_.head_end(), {}, &LineStart::offset);
  const auto end = std::ranges::lower_bound(index_, spool_.tail_begin(), {}, &LineStart::offset);
  if (begin < end) {
    index_.erase(begin, end);
  }
}

std::uint64_t OutputLog::line_count() const {
  return ended_lines_ + (cutter_.open_bytes() > 0 ? 1 : 0);
}

LineStart OutputLog::end() const {
  return {.line = line_count() + 1, .offset = size()};
}

/// What is kept from the beginning on: everything while nothing had to go.
OutputLog::Region OutputLog::head() const {
  if (spool_.head_end() == size()) {
    return {.begin = {}, .end = end()};
  }
  const auto after = std::ranges::upper_bound(index_, spool_.head_end(), {}, &LineStart::offset);
  return {.begin = {}, .end = *std::prev(after)};
}

/// What is kept behind the gap; empty while there is none.
OutputLog::Region OutputLog::tail() const {
  const auto first = std::ranges::lower_bound(index_, spool_.tail_begin(), {}, &LineStart::offset);
  const bool none = spool_.head_end() == size() || first == index_.end();
  return {.begin = none ? end() : *first, .end = end()};
}

std::optional<DroppedLines> OutputLog::dropped() const {
  const std::uint64_t first = head().end.line;
  const std::uint64_t next = tail().begin.line;
  if (first == next) {
    return std::nullopt;
  }
  return DroppedLines{.first = first, .last = next - 1, .why = spool_.problem()};
}

/// Reads `region` from the last indexed line up to `line`.
LineReader OutputLog::reader(const Region& region, std::uint64_t line) const {
  const auto after = std::ranges::upper_bound(index_, line, {}, &LineStart::line);
  const LineStart known = after == index_.begin() ? LineStart{} : *std::prev(after);
  return {spool_, known.offset < region.begin.offset ? region.begin : known, region.end.offset};
}

/// The beginning of the line that the byte at `offset` is in; of dropped lines, of the first.
LineStart OutputLog::line_of(std::uint64_t offset) const {
  const Region region = offset < tail().begin.offset ? head() : tail();
  if (offset >= region.end.offset) {
    return region.end;
  }
  const auto after = std::ranges::upper_bound(index_, offset, {}, &LineStart::offset);
  LineStart start = *std::prev(after);
  LineReader lines(spool_, start, region.end.offset);
  while (const auto line = lines.next()) {
    if (start.offset + line->text.size() > offset) {
      break;
    }
    start = {.line = start.line + 1, .offset = start.offset + line->text.size()};
  }
  return start;
}

/// Up to `most` bytes from the end, none of them from before `from` or from before a gap.
std::string OutputLog::ending(std::uint64_t from, std::size_t most) const {
  const std::uint64_t kept_begin = spool_.head_end() == size() ? 0 : tail().begin.offset;
  const std::uint64_t begin =
      std::max({from, kept_begin, size() - std::min<std::uint64_t>(most, size())});
  return spool_.read(begin, most);
}

Excerpt OutputLog::excerpt(std::uint64_t from, std::size_t budget) const {
  const std::size_t most = (budget + 1) * kCharacterBytes;
  std::string beginning = spool_.read(from, most);
  if (from + beginning.size() >= size() && !is_longer_than(beginning, budget)) {
    return {.head = std::move(beginning)};
  }
  Excerpt excerpt;
  excerpt.head = cut_to_head(beginning, budget / 2);
  const std::uint64_t head_end = from + excerpt.head.size();
  excerpt.tail = cut_to_tail(ending(head_end, most), budget / 2);
  const std::uint64_t tail_begin = size() - excerpt.tail.size();
  const LineStart line_of_tail = line_of(tail_begin);
  excerpt.bytes_left_out = tail_begin - head_end;
  excerpt.first_line_left_out = line_of(head_end).line;
  excerpt.last_line_left_out = line_of_tail.line - (line_of_tail.offset == tail_begin ? 1 : 0);
  return excerpt;
}

Passage OutputLog::read(std::uint64_t first_line, std::uint64_t count, std::size_t budget) const {
  const Region before_gap = head();
  const Region behind_gap = tail();
  const bool in_head = first_line < before_gap.end.line;
  const Region& region = in_head ? before_gap : behind_gap;
  Passage passage;
  passage.first = std::max(first_line, region.begin.line);
  passage.next = passage.first;
  LineReader lines = reader(region, passage.first);
  std::size_t characters = 0;
  while (passage.next - passage.first < count) {
    const auto line = lines.next();
    if (!line) {
      break;
    }
    if (line->number < passage.first) {
      continue;
    }
    characters += count_characters(line->text);
    if (characters > budget && passage.next > passage.first) {
      passage.stop = Passage::Stop::kBudget;
      return passage;
    }
    passage.text += line->text;
    ++passage.next;
  }
  if (passage.next < end().line) {
    passage.stop = in_head && passage.next == region.end.line ? Passage::Stop::kDropped
                                                              : Passage::Stop::kCount;
  }
  return passage;
}

Matches OutputLog::search(std::string_view text, std::uint64_t first_line, std::size_t most_matches,
                          std::size_t budget) const {
  Matches matches;
  Search search(text);
  std::size_t characters = 0;
  for (const Region& region : {head(), tail()}) {
    if (first_line >= region.end.line) {
      continue;
    }
    LineReader lines = reader(region, std::max(first_line, region.begin.line));
    while (const auto line = lines.next()) {
      if (line->number < first_line || !search.finds(*line)) {
        continue;
      }
      characters += count_characters(line->text);
      const bool full = matches.lines.size() == most_matches;
      if (full || (characters > budget && !matches.lines.empty())) {
        matches.next = line->number;
        return matches;
      }
      matches.lines.push_back(
          {.number = line->number, .text = std::string(without_newline(line->text))});
    }
  }
  return matches;
}

std::string OutputLog::last_line() const {
  const std::string window = ending(0, kLastLineWindow);
  std::string_view text = window;
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) {
    return {};
  }
  text = text.substr(0, last + 1);
  // What redraws a line with carriage returns shows its state behind the last of them.
  text.remove_prefix(text.find_last_of("\r\n") + 1);
  std::size_t length = std::min(text.size(), kLastLineBytes);
  while (length > 0 && length < text.size() && continues_character(text[length])) {
    --length;
  }
  return std::string(text.substr(0, length));
}

}  // namespace clmcp::session
