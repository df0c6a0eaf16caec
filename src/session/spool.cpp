#include "session/spool.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/result.h"

namespace clmcp::session {
namespace {

constexpr const char* kNoFile = "Cannot make a temporary file";

/// A file that is gone when it is closed, however we end.
Result<Fd> temporary_file() {
  std::error_code failed;
  const std::filesystem::path directory = std::filesystem::temp_directory_path(failed);
  if (failed) {
    return std::unexpected(Error{.code = ErrorCode::kSystem,
                                 .message = std::string(kNoFile) + ": " + failed.message()});
  }
  Fd unnamed(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (unnamed) {
    return unnamed;
  }
  std::string path = directory / "cl-mcp-output-XXXXXX";  // Not every file system can do that.
  Fd named(::mkostemp(path.data(), O_CLOEXEC));
  if (!named) {
    return std::unexpected(system_error(kNoFile));
  }
  (void)::unlink(path.c_str());  // At worst its name stays.
  return named;
}

Result<void> write_at(const Fd& file, std::size_t place, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (count < 0 && errno != EINTR) {
      return std::unexpected(system_error("Cannot write to a temporary file"));
    }
    const std::size_t written = count > 0 ? static_cast<std::size_t>(count) : 0;
    bytes.remove_prefix(written);
    place += written;
  }
  return {};
}

/// What can be read of `bytes` bytes.
std::string read_at(const Fd& file, std::size_t place, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count =
        ::pread(file.get(), text.data() + done, bytes - done, static_cast<off_t>(place + done));
    if (count == 0 || (count < 0 && errno != EINTR)) {
      break;
    }
    done += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  text.resize(done);
  return text;
}

}  // namespace

void Spool::append(std::string_view bytes) {
  for (Result<void> stored = store(bytes); !stored; stored = store(bytes)) {
    move_to_memory(std::move(stored).error().message);  // Once: memory does not refuse.
  }
  size_ += bytes.size();
}

/// Where the byte at `offset` is: the second half is a ring.
std::size_t Spool::place_of(std::uint64_t offset) const {
  if (offset < kept_) {
    return static_cast<std::size_t>(offset);
  }
  return half() + static_cast<std::size_t>((offset - half()) % (kept_ - half()));
}

Result<void> Spool::store(std::string_view bytes) {
  std::uint64_t offset = size_;
  while (!bytes.empty()) {
    const std::size_t place = place_of(offset);
    const std::string_view run = bytes.substr(0, kept_ - place);
    TRY(store_at(place, run));
    bytes.remove_prefix(run.size());
    offset += run.size();
  }
  return {};
}

Result<void> Spool::store_at(std::size_t place, std::string_view bytes) {
  if (!file_ && place + bytes.size() > limits::kOutputInMemoryBytes) {
    TRY(move_to_file());
  }
  if (file_) {
    return write_at(file_, place, bytes);
  }
  memory_.resize(std::max(memory_.size(), place + bytes.size()));
  memory_.replace(place, bytes.size(), bytes);
  return {};
}

Result<void> Spool::move_to_file() {
  Fd file = TRY(temporary_file());
  TRY(write_at(file, 0, memory_));
  file_ = std::move(file);
  memory_ = {};
  return {};
}

/// Goes on with what fits into memory: the beginning and the end of what there is.
void Spool::move_to_memory(std::string why) {
  const std::size_t half_of_memory = limits::kOutputInMemoryBytes / 2;
  const std::uint64_t tail_size = std::min<std::uint64_t>(size_, half_of_memory);
  const std::string head = read(0, limits::kOutputInMemoryBytes);
  const std::string tail = read(size_ - tail_size, half_of_memory);
  file_.reset();
  problem_ = std::move(why);
  kept_ = limits::kOutputInMemoryBytes;
  memory_ = head;
  if (size_ <= kept_) {
    return;  // All of it is in the head.
  }
  memory_.resize(kept_);
  for (std::size_t i = 0; i < tail.size(); ++i) {
    memory_[place_of(size_ - tail.size() + i)] = tail[i];
  }
}

std::string Spool::read(std::uint64_t from, std::size_t most) const {
  if (from >= head_end() && from < tail_begin()) {
    return {};
  }
  const std::uint64_t end = std::min(from < head_end() ? head_end() : size_, from + most);
  std::string text;
  while (from < end) {
    const std::size_t place = place_of(from);
    const std::size_t run = std::min(static_cast<std::size_t>(end - from), kept_ - place);
    const std::string piece = file_ ? read_at(file_, place, run) : memory_.substr(place, run);
    text += piece;
    if (piece.size() < run) {
      break;
    }
    from += run;
  }
  return text;
}

}  // namespace clmcp::session
