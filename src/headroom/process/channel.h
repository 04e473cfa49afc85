// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headroom/base/files.h"

namespace headroom {

/// A point in time to stop waiting. A negative time-out means never.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout) {
    if (timeout.count() >= 0) at_ = Clock::now() + std::min(timeout, kLongest);
  }

  bool over() const { return at_ && Clock::now() >= *at_; }

  /// The time left for poll(): milliseconds rounded up (rounding down would spin), -1 for ever.
  int poll_ms() const {
    if (!at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, std::numeric_limits<int>::max()));
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// Keeps milliseconds::max() from overflowing the clock.
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  std::optional<Clock::time_point> at_;
};

/// One end of a stream socket that carries lines. Owns the descriptor. Signals neither end nor lengthen a
/// wait.
class Channel {
 public:
  /// Takes ownership of `fd` and makes it close-on-exec, so that child processes do not hold the connection
  /// open. -1 makes a closed channel. Throws Error if `fd` is not an open socket.
  explicit Channel(int fd);

  /// Returns two connected ends, close-on-exec. Throws Error.
  static std::pair<Channel, Channel> pair();

  enum class Status { kLine, kClosed, kTimeout, kTooLong };

  /// Writes the whole `line` and "\n". Returns false if the other end is gone (no SIGPIPE), on time-out
  /// (negative: never) or when `gives_up`, asked a few times a second, returns true. After a partial write
  /// all later writes return false. Throws std::invalid_argument if `line` contains "\n".
  bool write_line(std::string_view line, std::chrono::milliseconds timeout = std::chrono::milliseconds(-1),
                  const std::function<bool()>& gives_up = {});
  /// Waits for one line, returned without its "\n"; a negative time-out waits for ever. A line over the limit
  /// gives kTooLong from then on. Lines sent before the other end closed are still read, except a last one
  /// without "\n".
  Status read_line(std::string& line, std::chrono::milliseconds timeout);
  /// Takes a complete line that is already buffered; does not read.
  bool buffered_line(std::string& line);
  /// Reads once without blocking. kLine means that bytes arrived.
  Status receive();

  /// Limits the length of lines; nullopt restores the default of 64 MiB.
  void limit_lines(std::optional<std::size_t> most);
  /// Whether there is no unread input, including partial lines.
  bool is_quiet() { return begin_ == buffer_.size() && receive() != Status::kLine; }

  int fd() const { return socket_.get(); }
  /// The errno of a broken connection (ETIMEDOUT: the other machine is unreachable); 0 if intact or closed by
  /// the other end.
  int failure() const { return failure_; }

 private:
  static constexpr std::size_t kLongestLine = std::size_t{64} << 20;

  Descriptor socket_;
  std::string buffer_;
  std::size_t begin_ = 0;     ///< start of the first unread line in buffer_
  std::size_t searched_ = 0;  ///< no line break between begin_ and here
  std::size_t longest_ = kLongestLine;
  bool too_long_ = false;
  bool write_failed_ = false;
  int failure_ = 0;
};

}  // namespace headroom
