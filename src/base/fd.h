#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace clmcp {

/// Owns a file descriptor and closes it.
class Fd {
 public:
  Fd() = default;

  explicit Fd(int fd) : fd_(fd) {}

  ~Fd() { reset(); }

  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  [[nodiscard]] int get() const { return fd_; }

  explicit operator bool() const { return fd_ >= 0; }

  void reset();

  /// Gives it up without closing it.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Two connected ends.
struct FdPair {
  Fd ours;
  Fd theirs;
};

/// A pipe that the other side writes; our reading end does not block. Both close on exec.
[[nodiscard]] Result<FdPair> make_pipe();

/// A connected stream socket pair; our end does not block. Both close on exec.
[[nodiscard]] Result<FdPair> make_socket_pair();

/// A descriptor for the same thing as `fd` that we may make non-blocking. Pipes and terminals are
/// opened anew (with `open_flags`: O_RDONLY or O_WRONLY): a plain dup would share the flag with
/// whoever gave us `fd`, and a shell whose terminal turned non-blocking misbehaves after we are
/// gone. Files keep their position and sockets cannot be opened anew; they are duplicated.
[[nodiscard]] Result<Fd> private_descriptor(int fd, int open_flags);

/// Sends one byte over a socket, and copies of `descriptors` with it.
[[nodiscard]] Result<void> send_descriptors(int socket, std::initializer_list<int> descriptors);

enum class IoStatus {
  kOk,          ///< moved at least one byte
  kWouldBlock,  ///< nothing now; wait for the descriptor
  kClosed,      ///< end of file, or nobody reads any more
  kFailed,      ///< errno says why
};

/// Reads once, at most `most` bytes, and appends them to `into`.
IoStatus read_some(int fd, std::string& into, std::size_t most);

/// Writes once from the front of `data` and shortens it by what was written.
IoStatus write_some(int fd, std::string_view& data);

/// Lets us open as many descriptors as the system ever allows: sessions need a few each.
void raise_descriptor_limit();

/// Gives a process that is about to exec the limit that we were started with: programs that use
/// select(2) count on it. May be called between fork and exec.
void restore_descriptor_limit();

}  // namespace clmcp
