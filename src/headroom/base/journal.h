// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A file of lines that is only ever appended to, each with a checksum, so that what was appended outlives
/// the death of its writer: a line is the kernel's when append() returns, and the disk's a second later at
/// the latest, once there is a next one. Readable by its user alone. While its writer lives it is locked.
class Journal {
 public:
  /// Makes a new file in `folder`, and the folder where it is missing. Throws Error.
  explicit Journal(const std::filesystem::path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// `text` has no line break. Throws Error where it could not be written whole; the file then ends with the
  /// line before it, or, where even that fails, is given up.
  void append(std::string_view text);
  /// What it was for is kept elsewhere.
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
  std::size_t damaged = 0;  ///< bytes after them that are no line, or not the one that was written
};

/// Up to the first line that is damaged, as the last one is of a journal whose machine lost its power. Throws
/// Error where it cannot be read.
JournalLines read_journal(const std::filesystem::path& path);

/// The journals in `folder` whose writer is gone, the oldest first.
std::vector<std::filesystem::path> unfinished_journals(const std::filesystem::path& folder);
/// Those whose writer lives, the oldest first.
std::vector<std::filesystem::path> running_journals(const std::filesystem::path& folder);

}  // namespace headroom
