// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "headroom/base/error.h"

namespace headroom {
namespace {

constexpr std::chrono::milliseconds kAskAgain{200};
constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

void require_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM) return;
  throw Error(fmt::format(
      "descriptor {} is not an open stream socket; this program must inherit it from its parent", fd));
}

bool wait_for(int fd, short event, const Deadline& deadline) {
  while (true) {
    pollfd entry{fd, event, 0};
    if (::poll(&entry, 1, deadline.poll_ms()) > 0) return true;
    if (deadline.over()) return false;
  }
}

/// Stops if `gives_up` returns true, too.
bool wait_to_write(int fd, const Deadline& deadline, const std::function<bool()>& gives_up) {
  if (!gives_up) return wait_for(fd, POLLOUT, deadline);
  while (!wait_for(fd, POLLOUT, Deadline(kAskAgain))) {
    if (gives_up() || deadline.over()) return false;
  }
  return true;
}

bool send_all(int fd, std::string_view bytes, const Deadline& deadline,
              const std::function<bool()>& gives_up) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_to_write(fd, deadline, gives_up)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

Channel::Channel(int fd) {
  if (fd < 0) return;
  require_socket(fd);
  socket_ = Descriptor(fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

std::pair<Channel, Channel> Channel::pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(fmt::format("cannot make a socket pair: {}", std::strerror(errno)));
  }
  return {Channel(ends[0]), Channel(ends[1])};
}

bool Channel::write_line(std::string_view line, std::chrono::milliseconds timeout,
                         const std::function<bool()>& gives_up) {
  if (line.find('\n') != std::string_view::npos) {
    throw std::invalid_argument("a line for a channel contains a line end");
  }
  if (!socket_.is_open() || write_failed_) return false;
  std::string message;
  message.reserve(line.size() + 1);
  message.append(line).push_back('\n');
  write_failed_ = !send_all(fd(), message, Deadline(timeout), gives_up);
  return !write_failed_;
}

void Channel::limit_lines(std::optional<std::size_t> most) {
  longest_ = most.value_or(kMaxLineBytes);
}

Channel::Status Channel::read_line(std::string& line, std::chrono::milliseconds timeout) {
  const Deadline deadline(timeout);
  while (true) {
    if (buffered_line(line)) return Status::kLine;
    const Status status = receive();
    if (status == Status::kClosed || status == Status::kTooLong) return status;
    if (status == Status::kLine) continue;
    if (!wait_for(fd(), POLLIN, deadline)) return Status::kTimeout;
  }
}

bool Channel::buffered_line(std::string& line) {
  const std::size_t newline = buffer_.find('\n', searched_);
  if (newline == std::string::npos) {
    searched_ = buffer_.size();
    return false;
  }
  line.assign(buffer_, begin_, newline - begin_);
  begin_ = searched_ = newline + 1;
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = searched_ = 0;
  }
  return true;
}

Channel::Status Channel::receive() {
  if (too_long_) return Status::kTooLong;
  if (!socket_.is_open()) return Status::kClosed;
  if (buffer_.size() - begin_ > longest_) {
    if (buffer_.find('\n', searched_) != std::string::npos) return Status::kLine;
    too_long_ = true;
    buffer_ = std::string();
    begin_ = searched_ = 0;
    return Status::kTooLong;
  }
  std::array<char, kChunkBytes> chunk;
  ssize_t got = 0;
  do {
    got = ::recv(fd(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Status::kTimeout;
  if (got < 0) failure_ = errno;
  if (got <= 0) return Status::kClosed;
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
  }
  buffer_.append(chunk.data(), static_cast<std::size_t>(got));
  return Status::kLine;
}

}  // namespace headroom
