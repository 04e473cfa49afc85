// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Append-only file of checksummed lines that survives its writer's death: append() hands a line to the
/// kernel and syncs at most once a second. Private to the user; locked while the writer lives.
class Journal {
 public:
  /// Creates the file, and `folder` if missing. Throws Error.
  explicit Journal(const std::filesystem::path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// `text` must not contain a line break. On failure throws Error and truncates to the previous line; if
  /// that fails, stops writing.
  void append(std::string_view text);
  void remove();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::size_t size_ = 0;
  bool is_torn_ = false;
  std::chrono::steady_clock::time_point synced_;
};

struct JournalLines {
  std::vector<std::string> lines;
  std::size_t damaged = 0;
};

/// Up to the first damaged line. Throws Error if unreadable.
JournalLines read_journal(const std::filesystem::path& path);

/// Of dead writers, oldest first.
std::vector<std::filesystem::path> unfinished_journals(const std::filesystem::path& folder);
/// Of living writers, oldest first.
std::vector<std::filesystem::path> running_journals(const std::filesystem::path& folder);

}  // namespace headroom
