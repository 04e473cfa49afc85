// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headroom/process/descriptor.h"

namespace headroom {

/// One end of a stream socket that carries lines. Owns the descriptor. Signals that arrive while it waits
/// neither end the wait nor lengthen it.
class Channel {
 public:
  /// Takes over `fd` and makes it close-on-exec, so that programs started from here do not hold the line
  /// open. -1 is a channel that is closed. Throws Error when `fd` is not an open socket.
  explicit Channel(int fd);

  /// Two connected ends, close-on-exec. Throws Error.
  static std::pair<Channel, Channel> pair();

  enum class Status { kLine, kClosed, kTimeout, kTooLong };

  /// Writes `line` and "\n" whole. False when the other end is gone (no SIGPIPE), took too long (a negative
  /// time-out waits for ever), or `gives_up`, which is asked some times a second while it has to wait. A line
  /// that was cut makes the channel useless for writing: later writes are false. A "\n" inside `line` is an
  /// std::invalid_argument.
  bool write_line(std::string_view line, std::chrono::milliseconds timeout = std::chrono::milliseconds(-1),
                  const std::function<bool()>& gives_up = {});
  /// Waits for one line (without its "\n"). A negative timeout waits for ever. A line over 64 MiB is
  /// kTooLong, then and ever after. Lines that came before the other end closed are still read; a last one
  /// without its
  /// "\n" is not.
  Status read_line(std::string& line, std::chrono::milliseconds timeout);
  /// A complete line that is already here, without waiting or reading more.
  bool buffered_line(std::string& line);
  /// Reads once without blocking. kLine means that bytes came.
  Status receive();

  /// Longer lines than `most` are kTooLong; nothing: as at first, those over 64 MiB.
  void limit_lines(std::optional<std::size_t> most);
  /// Whether nothing came that was not read, part of a line included.
  bool is_quiet() { return begin_ == buffer_.size() && receive() != Status::kLine; }

  int fd() const { return socket_.get(); }
  /// The errno by which reading found the connection broken (ETIMEDOUT: the other machine cannot be reached);
  /// 0 where it is not, and where the other end closed it.
  int failure() const { return failure_; }

 private:
  static constexpr std::size_t kLongestLine = std::size_t{64} << 20;

  Descriptor socket_;
  std::string buffer_;
  std::size_t begin_ = 0;     ///< of the first line not yet given out, in buffer_
  std::size_t searched_ = 0;  ///< no line end lies between begin_ and here
  std::size_t longest_ = kLongestLine;
  bool too_long_ = false;
  bool write_failed_ = false;
  int failure_ = 0;
};

}  // namespace headroom
