// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/files/compressed_file.h"
#include "headroom_trace/bytes/byte_source.h"
#include "headroom_trace/json/json_scan.h"

namespace headroom::trace::readers {

/// A piece of the file with its position.
struct Window {
  PaddedText text;
  std::uint64_t offset = 0;
  bool is_last = false;  ///< the text ends with it
};

/// The text of a source, piece by piece: as much as the reader wants to see at once, or cut into windows.
class TextFeed {
 public:
  TextFeed(ByteSource& source, std::size_t window_bytes)
      : source_(source), window_bytes_(std::max(window_bytes, kLeastWindow)) {}

  /// The text read and not yet consumed. Valid until the next non-const call.
  std::string_view text() const { return pending_.view().substr(start_); }
  /// Position of text() in the file.
  std::uint64_t offset() const { return offset_; }
  /// Doubles the text read. Returns false at the end.
  bool grow();
  void consume(std::size_t count);

  static constexpr int kEnd = -1;
  /// Moves to the next character that is not white space and returns it; kEnd at the end.
  int peek();
  /// Scans the value here, reading on until it is whole or the text is longer than `most`; consumes nothing.
  Scan scan_whole(std::size_t most);

  /// Consumes a piece that ends before a probable event, or with the text. `room` is a buffer to reuse.
  Window take_window(PaddedText room);
  /// Puts consecutive windows back, the first from its byte `from` on.
  void put_back(const std::vector<Window>& windows, std::size_t from);

  const ByteSource& source() const { return source_; }
  /// Passes all text read from now on to `syntax`, once and in order.
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

/// Descends into a JSON text of any size, piece by piece; memory follows the largest value taken. object()
/// and array() call back for each member or element and skip what the callback neither takes nor enters.
class JsonDescent {
 public:
  explicit JsonDescent(ByteSource& source) : feed_(source, kWindow) {}

  using OnMember = std::function<void(const std::string& key)>;
  using OnElement = std::function<void()>;
  /// Both skip a value of another kind.
  void object(const OnMember& on_member);
  void array(const OnElement& on_element);
  /// The value here. Nothing if it is not valid JSON or larger than kLargest: it is skipped, and problem()
  /// says why.
  std::optional<Json> take();
  /// The text of the value here; nothing as for take().
  std::optional<std::string> take_text();

  std::uint64_t offset() const { return feed_.offset(); }
  /// The error of the last take().
  const std::string& problem() const { return problem_; }
  /// Why the text ends or breaks before the value does; empty if it does not. Nothing follows after that.
  const std::string& damage() const { return damage_; }

  static constexpr std::size_t kLargest = std::size_t{1} << 26;

 private:
  static constexpr std::size_t kWindow = std::size_t{1} << 18;
  void skip();
  bool ends_list(char close, bool& is_first);
  void fail(std::string what);

  TextFeed feed_;
  bool is_used_ = false;  ///< the current value
  std::string problem_, damage_;
};

/// Members of an object by name, or `absent` if missing or of another type.
std::int64_t whole_at(const Json& object, std::string_view key, std::int64_t absent = -1);
std::string_view text_at(const Json& object, std::string_view key);
const Json& member_at(const Json& object, std::string_view key);

}  // namespace headroom::trace::readers
