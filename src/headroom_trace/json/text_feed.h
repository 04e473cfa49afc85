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
#include "headroom/files/byte_source.h"
#include "headroom/files/compressed_file.h"
#include "headroom_trace/json/json_scan.h"

namespace headroom::trace::readers {

struct Window {
  PaddedText text;
  std::uint64_t offset = 0;
  bool is_last = false;
};

class TextFeed {
 public:
  TextFeed(ByteSource& source, std::size_t window_bytes)
      : source_(source), window_bytes_(std::max(window_bytes, kLeastWindow)) {}

  /// Valid until the next non-const call.
  std::string_view text() const { return pending_.view().substr(start_); }
  std::uint64_t offset() const { return offset_; }
  /// Doubles the text; false at the end.
  bool grow();
  void consume(std::size_t count);

  static constexpr int kEnd = -1;
  /// Skips white space, then returns the next character without consuming it.
  int peek();
  /// Scans without consuming, reading on while incomplete and at most `most` long.
  Scan scan_whole(std::size_t most);

  /// Consumes text up to a probable event or the end. `room`: a buffer to reuse.
  Window take_window(PaddedText buffer);
  /// Puts consecutive windows back, starting at byte `from` of the first.
  void put_back(const std::vector<Window>& windows, std::size_t from);

  const ByteSource& source() const { return source_; }
  /// Passes all text read from now on to `syntax`.
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

/// Streaming descent into JSON; memory follows the largest value taken. Skips values that a callback neither
/// takes nor enters.
class JsonDescent {
 public:
  explicit JsonDescent(ByteSource& source) : feed_(source, kWindow) {}

  using OnMember = std::function<void(const std::string& key)>;
  using OnElement = std::function<void()>;
  /// These skip a value of another kind.
  void object(const OnMember& on_member);
  void array(const OnElement& on_element);
  /// Return nothing if the value is invalid or larger than kLargest (see problem()).
  std::optional<Json> take();
  std::optional<std::string> take_text();

  std::uint64_t offset() const { return feed_.offset(); }
  const std::string& problem() const { return problem_; }
  /// Why the text ended early, or empty.
  const std::string& damage() const { return damage_; }

  static constexpr std::size_t kLargest = std::size_t{1} << 26;

 private:
  static constexpr std::size_t kWindow = std::size_t{1} << 18;
  void skip();
  bool ends_list(char close, bool& is_first);
  void fail(std::string what);

  TextFeed feed_;
  bool is_used_ = false;
  std::string problem_, damage_;
};

/// Members by name; `absent` or empty if missing or of another type.
std::int64_t integer_at(const Json& object, std::string_view key, std::int64_t absent = -1);
std::string_view text_at(const Json& object, std::string_view key);
const Json& member_at(const Json& object, std::string_view key);

}  // namespace headroom::trace::readers
