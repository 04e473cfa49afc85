// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace headroom::trace::readers {

/// Whether `"key":` stands in a text of members.
bool has_key(std::string_view members, std::string_view key);

/// The members of a JSON object, written one after the other.
class JsonMembers {
 public:
  template <std::integral Integer>
  void add(std::string_view key, Integer value) {
    add_json(key, std::to_string(value));
  }
  void add(std::string_view key, double value);
  void add(std::string_view key, std::string_view text);
  /// A value that is JSON already.
  void add_json(std::string_view key, std::string_view json);
  /// Members that are JSON already, "a":1,"b":[2]. False, and nothing added, where they are not.
  bool add_members(std::string_view json);
  /// Three numbers, as Kineto writes sizes of grids.
  void add_extent(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z);

  bool has(std::string_view key) const { return has_key(text_, key); }
  const std::string& text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  void add_key(std::string_view key);
  std::string text_;
};

}  // namespace headroom::trace::readers
