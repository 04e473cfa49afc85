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

/// A negative time-out means never.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout) {
    if (timeout.count() >= 0) at_ = Clock::now() + std::min(timeout, kMaxTimeout);
  }

  bool over() const { return at_ && Clock::now() >= *at_; }

  /// Rounds up, as rounding down would spin; -1 for never.
  int poll_ms() const {
    if (!at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, std::numeric_limits<int>::max()));
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// milliseconds::max() would overflow the clock.
  static constexpr std::chrono::milliseconds kMaxTimeout = std::chrono::hours(24 * 365);
  std::optional<Clock::time_point> at_;
};

/// Stream socket that carries lines; owns the descriptor.
class Channel {
 public:
  /// Makes `fd` close-on-exec. -1: closed. Throws Error if `fd` is not an open socket.
  explicit Channel(int fd);

  /// Connected, close-on-exec. Throws Error.
  static std::pair<Channel, Channel> pair();

  enum class Status { kLine, kClosed, kTimeout, kTooLong };

  /// Returns false if the other end is gone (no SIGPIPE), on time-out (negative: never) or if `gives_up`,
  /// called a few times a second, returns true. After a partial write all later writes fail. Throws
  /// std::invalid_argument if `line` contains "
  /// ".
  bool write_line(std::string_view line, std::chrono::milliseconds timeout = std::chrono::milliseconds(-1),
                  const std::function<bool()>& gives_up = {});
  /// A negative time-out waits for ever. A line over the limit gives kTooLong from then on. Returns complete
  /// lines sent before the other end closed.
  Status read_line(std::string& line, std::chrono::milliseconds timeout);
  /// Takes a buffered line without reading.
  bool buffered_line(std::string& line);
  /// Reads once without blocking; kLine: bytes arrived.
  Status receive();

  /// nullopt: the default of 64 MiB.
  void limit_lines(std::optional<std::size_t> most);
  /// No unread input, not even a partial line.
  bool is_quiet() { return begin_ == buffer_.size() && receive() != Status::kLine; }

  int fd() const { return socket_.get(); }
  /// errno of a broken connection (ETIMEDOUT: unreachable machine), else 0.
  int failure() const { return failure_; }

 private:
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

  Descriptor socket_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t searched_ = 0;  ///< no line break in [begin_, searched_)
  std::size_t longest_ = kMaxLineBytes;
  bool too_long_ = false;
  bool write_failed_ = false;
  int failure_ = 0;
};

}  // namespace headroom
