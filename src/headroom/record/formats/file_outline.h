// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

namespace headroom {

/// The keys near the top of a file's JSON, which tell formats apart: those of the root (of its first row if
/// it is a list or JSON lines) and of the two levels below, of a list those of its first element. Scans the
/// text without building values; text that is not JSON, or is cut off, has the keys up to there.
class FileOutline {
 public:
  /// Keeps a view of `text`.
  explicit FileOutline(std::string_view text);

  std::string_view text() const { return text_; }
  bool starts_with_object() const { return starts_with_object_; }
  /// Whether there is such a key: "benchmarks", "benchmarks/fullname".
  bool has(std::string_view path) const { return paths_.contains(path); }
  bool has_all(std::initializer_list<std::string_view> paths) const;
  bool has_any(std::initializer_list<std::string_view> paths) const;
  /// Whether the value of the key is [].
  bool has_empty_list(std::string_view path) const { return empty_lists_.contains(path); }

 private:
  friend class OutlineScan;
  std::string_view text_;
  bool starts_with_object_ = false;
  std::set<std::string, std::less<>> paths_, empty_lists_;
};

/// Returns the name of a benchmark tool that writes such files and is not read here; empty if none is known.
std::string unread_tool(const FileOutline& outline);

}  // namespace headroom
