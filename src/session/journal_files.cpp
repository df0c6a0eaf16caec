#include "session/journal_files.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/result.h"
#include "session/journal_text.h"

namespace clmcp::session {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".journal";
constexpr mode_t kPrivate = 0600;
constexpr int kMostNames = 100;          // Servers in one directory at once, with the same session.
constexpr std::size_t kMostListed = 20;  // Journals that an error names.

std::unexpected<Error> refused(const fs::path& path, const std::error_code& error) {
  return std::unexpected(Error{.code = ErrorCode::kSystem,
                               .message = fmt::format("{}: {}", path.native(), error.message())});
}

/// A file's name for a session. Only what could lead elsewhere, or be taken for an earlier life, is
/// written otherwise.
std::string file_stem(const std::string& session) {
  std::string stem;
  for (const char c : session) {
    if (c == '/' || c == '.' || c == '%' || static_cast<unsigned char>(c) < ' ') {
      stem += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      stem += c;
    }
  }
  return stem;
}

fs::path journal_path(const fs::path& folder, std::string_view stem) {
  return folder / fmt::format("{}{}", stem, kSuffix);
}

/// Others of this machine have no business in there: code and its output may hold anything.
Result<void> make_private_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (error) {
    return refused(folder.parent_path(), error);
  }
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return std::unexpected(system_error(folder.native()));
  }
  fs::permissions(folder.parent_path(), fs::perms::owner_all, error);  // It is only ours as well.
  return {};
}

bool is_still_at(const Fd& file, const fs::path& path) {
  struct stat held{};
  struct stat there{};
  return ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

/// Opens and locks; nothing where another process holds the file, or came between and made or moved
/// it.
Result<std::optional<Fd>> open_locked(const fs::path& path, int flags) {
  Fd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | flags, kPrivate));
  if (!file && errno == EEXIST) {
    return std::nullopt;
  }
  if (!file) {
    return std::unexpected(system_error(path.native()));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return std::nullopt;
    }
    return std::unexpected(system_error(fmt::format("Cannot lock {}", path.native())));
  }
  if (!is_still_at(file, path)) {
    return std::nullopt;
  }
  return file;
}

/// default.journal becomes default.1.journal, that one default.2.journal, and the oldest goes.
Result<void> move_aside(const fs::path& folder, const std::string& stem) {
  std::error_code error;
  for (int life = limits::kOldJournals - 1; life >= 0; --life) {
    const std::string from = life == 0 ? stem : fmt::format("{}.{}", stem, life);
    fs::rename(journal_path(folder, from),
               journal_path(folder, fmt::format("{}.{}", stem, life + 1)), error);
    if (error && error != std::errc::no_such_file_or_directory) {
      return refused(journal_path(folder, from), error);
    }
  }
  return {};
}

/// A new and empty file under this name; nothing where the name is taken by a living server.
Result<std::optional<Fd>> claim(const fs::path& folder, const std::string& stem) {
  const fs::path path = journal_path(folder, stem);
  std::optional<Fd> file = TRY(open_locked(path, O_CREAT));
  std::error_code error;
  if (!file || fs::file_size(path, error) == 0) {
    return file;
  }
  TRY(move_aside(folder, stem));  // While we hold it, so that nobody else does the same.
  return open_locked(path, O_CREAT | O_EXCL);
}

/// A journal that a name may mean.
struct Candidate {
  fs::path path;
  std::string name;
  std::string directory;
};

std::string directory_of(const fs::path& path) {
  std::string head(64 * limits::kKiB, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return parse_journal(head).owner.directory;
}

std::vector<Candidate> all_journals(const fs::path& root) {
  std::vector<Candidate> found;
  std::error_code error;
  for (const fs::directory_entry& folder : fs::directory_iterator(root, error)) {
    std::error_code unreadable;
    for (const fs::directory_entry& file : fs::directory_iterator(folder.path(), unreadable)) {
      if (file.path().extension() == kSuffix) {
        found.push_back({.path = file.path(),
                         .name = file.path().stem().native(),
                         .directory = directory_of(file.path())});
      }
    }
  }
  std::ranges::sort(found, {}, &Candidate::path);
  return found;
}

std::string listed(const std::vector<Candidate>& candidates) {
  std::vector<std::string> lines;
  for (const Candidate& one : candidates) {
    if (lines.size() == kMostListed) {
      lines.push_back(fmt::format("and {} more", candidates.size() - kMostListed));
      break;
    }
    lines.push_back(fmt::format("'{}' of {}", one.name,
                                one.directory.empty() ? one.path.native() : one.directory));
  }
  return fmt::format("{}", fmt::join(lines, ", "));
}

std::unexpected<Error> not_found(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::kNotFound, .message = std::move(message)});
}

}  // namespace

fs::path JournalPlace::folder() const {
  std::string name = directory.filename().native().substr(0, 100);
  return root / fmt::format("{}-{:08x}", name.empty() ? "root" : name,
                            hash(directory.native()) & 0xffffffffU);
}

Result<HeldJournal> create_journal(const JournalPlace& place, const std::string& session) {
  const fs::path folder = place.folder();
  TRY(make_private_folder(folder));
  const std::string stem = file_stem(session);
  for (int number = 1; number <= kMostNames; ++number) {
    const std::string name = number == 1 ? stem : fmt::format("{}-{}", stem, number);
    if (std::optional<Fd> file = TRY(claim(folder, name))) {
      return HeldJournal{.file = *std::move(file), .path = journal_path(folder, name)};
    }
  }
  return std::unexpected(
      Error{.code = ErrorCode::kLimit,
            .message = fmt::format("{}: other servers hold all its names", folder.native())});
}

Result<HeldJournal> hold_journal(const fs::path& path) {
  std::optional<Fd> file = TRY(open_locked(path, 0));
  if (!file) {
    return std::unexpected(Error{
        .code = ErrorCode::kUnavailable,
        .message = fmt::format("{} is in use by another server that is running", path.native())});
  }
  return HeldJournal{.file = *std::move(file), .path = path};
}

Result<HeldJournal> replace_journal(const HeldJournal& journal, const std::string& text) {
  const fs::path unfinished = journal.path.native() + ".new";
  std::error_code error;
  fs::remove(unfinished, error);  // Left by somebody who was killed here.
  std::optional<Fd> file = TRY(open_locked(unfinished, O_CREAT | O_EXCL));
  std::string_view left = text;
  while (file && !left.empty() && write_some(file->get(), left) == IoStatus::kOk) {
  }
  if (!file || !left.empty()) {
    Error failure = system_error(unfinished.native());
    fs::remove(unfinished, error);
    return std::unexpected(std::move(failure));
  }
  fs::rename(unfinished, journal.path, error);
  if (error) {
    return refused(journal.path, error);
  }
  return HeldJournal{.file = *std::move(file), .path = journal.path};
}

Result<std::string> read_whole_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::unexpected(system_error(path.native()));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<fs::path> find_journal(const JournalPlace& place, const std::string& name) {
  const std::vector<Candidate> all = all_journals(place.root);
  const std::string stem = file_stem(name);
  std::vector<Candidate> named;
  for (const Candidate& one : all) {
    if (one.name == stem || one.name == name) {
      if (one.path.parent_path() == place.folder()) {
        return one.path;
      }
      named.push_back(one);
    }
  }
  if (named.size() == 1) {
    return named.front().path;
  }
  if (named.size() > 1) {
    return not_found(fmt::format(
        "There is no journal '{}' of this directory, and more than one of others: {}; start in one "
        "of these directories",
        name, listed(named)));
  }
  if (all.empty()) {
    return not_found(fmt::format("There is no journal in {}", place.root.native()));
  }
  return not_found(fmt::format("There is no journal '{}'; there is {}", name, listed(all)));
}

}  // namespace clmcp::session
