// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "headroom/base/json_value.h"
#include "headroom/trace/readers/byte_source.h"
#include "headroom/trace/readers/text_feed.h"

namespace headroom::trace::readers {

/// Goes down into a JSON text of any size, piece by piece, by what its reader asks for: memory follows the
/// largest value that is taken. Objects and arrays call back for each member and element; what the callback
/// does not take or enter is skipped.
class JsonDescent {
 public:
  explicit JsonDescent(ByteSource& source) : feed_(source, kWindow) {}

  using OnMember = std::function<void(const std::string& key)>;
  using OnElement = std::function<void()>;
  /// Where another kind of value stands they skip it.
  void object(const OnMember& on_member);
  void array(const OnElement& on_element);
  /// The value here. Nothing where it is no proper JSON, or larger than kLargest: it is skipped, and
  /// problem() says so.
  std::optional<Json> take();
  /// The same as text.
  std::optional<std::string> take_text();

  std::uint64_t offset() const { return feed_.offset(); }
  /// What was wrong with the value that take() was last asked for.
  const std::string& problem() const { return problem_; }
  /// Why the text ends, or makes no sense, before its value does; empty while it does not. Nothing more comes
  /// then.
  const std::string& damage() const { return damage_; }

  static constexpr std::size_t kLargest = std::size_t{1} << 26;

 private:
  static constexpr std::size_t kWindow = std::size_t{1} << 18;
  void skip();
  bool ends_list(char close, bool& is_first);
  void fail(std::string what);

  TextFeed feed_;
  bool is_used_ = false;  ///< the value at hand
  std::string problem_, damage_;
};

/// Members of an object by name; what is missing or of another type is `absent`.
std::int64_t whole_at(const Json& object, std::string_view key, std::int64_t absent = -1);
std::string_view text_at(const Json& object, std::string_view key);
const Json& member_at(const Json& object, std::string_view key);

}  // namespace headroom::trace::readers
