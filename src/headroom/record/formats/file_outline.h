// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

namespace headroom {

/// Keys of a file's root (or first row) and two levels below (of lists the first element), for format
/// detection. Keys end where the text stops being JSON.
class FileOutline {
 public:
  /// Keeps a view of `text`.
  explicit FileOutline(std::string_view text);

  std::string_view text() const { return text_; }
  bool starts_with_object() const { return starts_with_object_; }
  /// Neither an object nor a list.
  bool is_text() const { return !text_.starts_with('{') && !text_.starts_with('['); }
  bool has(std::string_view path) const { return paths_.contains(path); }
  bool has_all(std::initializer_list<std::string_view> paths) const;
  bool has_any(std::initializer_list<std::string_view> paths) const;
  /// Keys of the lowest level.
  const std::set<std::string, std::less<>>& deepest() const { return deepest_; }
  bool has_empty_list(std::string_view path) const { return empty_lists_.contains(path); }

 private:
  friend class OutlineScan;
  std::string_view text_;
  bool starts_with_object_ = false;
  std::set<std::string, std::less<>> paths_, empty_lists_, deepest_;
};

/// Returns the name of a known but unsupported tool, or an empty text.
std::string unsupported_tool(const FileOutline& outline);

}  // namespace headroom
