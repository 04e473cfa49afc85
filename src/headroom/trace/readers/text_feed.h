// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "headroom/base/padded_text.h"
#include "headroom/trace/readers/byte_source.h"
#include "headroom/trace/readers/json_syntax.h"
#include "headroom/trace/readers/tolerant_scan.h"

namespace headroom::trace::readers {

/// A piece of the file, with its place in it.
struct Window {
  PaddedText text;
  std::uint64_t offset = 0;
  bool is_last = false;  ///< nothing comes after it
};

/// The text of a source, piece by piece: as much of it as its reader wants to see at once, or cut into
/// windows.
class TextFeed {
 public:
  TextFeed(ByteSource& source, std::size_t window_bytes)
      : source_(source), window_bytes_(std::max(window_bytes, kLeastWindow)) {}

  /// What has been read and not yet consumed. Good until the next call of anything else.
  std::string_view text() const { return pending_.view().substr(start_); }
  /// Its place in the file.
  std::uint64_t offset() const { return offset_; }
  /// Reads more, as much again as is there. False at the end.
  bool grow();
  void consume(std::size_t count);

  static constexpr int kEnd = -1;
  /// The next character that is no white space, to which it moves; kEnd at the end.
  int peek();
  /// The value here, read on until it is whole or the text longer than `most`; nothing is consumed.
  Scan scan_whole(std::size_t most);

  /// Consumes a piece that ends where an event seems to start, or with the text. `room` is a buffer to use
  /// again.
  Window take_window(PaddedText room);
  /// Undoes that for windows that follow one another, the first from its byte `from` on.
  void put_back(const std::vector<Window>& windows, std::size_t from);

  const ByteSource& source() const { return source_; }
  /// Shows all that is read from now on to `syntax`, once and in order.
  void watch(JsonSyntax& syntax) { syntax_ = &syntax; }

 private:
  void make_front_free();
  std::size_t read_more(std::size_t wanted);

  static constexpr std::size_t kLeastWindow = 64;

  ByteSource& source_;
  JsonSyntax* syntax_ = nullptr;
  std::size_t window_bytes_;
  PaddedText pending_;
  std::size_t start_ = 0;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace headroom::trace::readers
