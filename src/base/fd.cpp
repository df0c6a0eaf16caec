#include "base/fd.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <expected>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/result.h"

namespace clmcp {
namespace {

rlimit original_limit = {};  // Of the process, and so is the variable.
bool limit_is_raised = false;

IoStatus status_of_errno() {
  switch (errno) {
    case EAGAIN:
    case EINTR:
      return IoStatus::kWouldBlock;
    case EPIPE:
    case ECONNRESET:
      return IoStatus::kClosed;
    default:
      return IoStatus::kFailed;
  }
}

}  // namespace

void Fd::reset() {
  if (fd_ >= 0) {
    (void)::close(fd_);  // Nothing to do about a failure: the descriptor is gone either way.
    fd_ = -1;
  }
}

Result<FdPair> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::unexpected(system_error("Cannot make a pipe"));
  }
  FdPair pair{.ours = Fd(ends[0]), .theirs = Fd(ends[1])};
  // Only our end: the writer is ordinary code that expects writes to wait.
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return std::unexpected(system_error("Cannot make a pipe non-blocking"));
  }
  return pair;
}

Result<FdPair> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return std::unexpected(system_error("Cannot make a socket pair"));
  }
  FdPair pair{.ours = Fd(ends[0]), .theirs = Fd(ends[1])};
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return std::unexpected(system_error("Cannot make a socket non-blocking"));
  }
  return pair;
}

Result<Fd> private_descriptor(int fd, int open_flags) {
  struct stat kind{};
  if (::fstat(fd, &kind) != 0) {
    return std::unexpected(system_error(fmt::format("Cannot use descriptor {}", fd)));
  }
  if (S_ISFIFO(kind.st_mode) || S_ISCHR(kind.st_mode)) {
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    Fd again(::open(path.c_str(), open_flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (again) {
      return again;
    }
  }
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) {
    return std::unexpected(system_error(fmt::format("Cannot copy descriptor {}", fd)));
  }
  return copy;
}

Result<void> send_descriptors(int socket, std::initializer_list<int> descriptors) {
  char byte = 'F';
  iovec data{.iov_base = &byte, .iov_len = 1};
  const std::size_t bytes = descriptors.size() * sizeof(int);
  std::vector<std::max_align_t> room(CMSG_SPACE(bytes) / sizeof(std::max_align_t) + 1);
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(header), descriptors.begin(), bytes);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1) {
    return std::unexpected(system_error("Cannot pass descriptors on"));
  }
  return {};
}

IoStatus read_some(int fd, std::string& into, std::size_t most) {
  const std::size_t before = into.size();
  into.resize(before + most);
  const ssize_t count = ::read(fd, into.data() + before, most);
  into.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
  if (count > 0) {
    return IoStatus::kOk;
  }
  return count == 0 ? IoStatus::kClosed : status_of_errno();
}

IoStatus write_some(int fd, std::string_view& data) {
  const ssize_t count = ::write(fd, data.data(), data.size());
  if (count < 0) {
    return status_of_errno();
  }
  data.remove_prefix(static_cast<std::size_t>(count));
  return IoStatus::kOk;
}

void raise_descriptor_limit() {
  if (::getrlimit(RLIMIT_NOFILE, &original_limit) == 0) {
    rlimit raised = original_limit;
    raised.rlim_cur = raised.rlim_max;
    limit_is_raised = ::setrlimit(RLIMIT_NOFILE, &raised) == 0;
  }
}

void restore_descriptor_limit() {
  if (limit_is_raised) {
    (void)::setrlimit(RLIMIT_NOFILE, &original_limit);
  }
}

}  // namespace clmcp
