// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// An append-only file of lines with checksums that survives the death of its writer: append() hands a line
/// to the kernel, and the next append() syncs to disk after at most a second. Readable by its user alone.
/// Locked while its writer lives.
class Journal {
 public:
  /// Creates a file in `folder`, and the folder if missing. Throws Error.
  explicit Journal(const std::filesystem::path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Appends `text`, which must not contain a line break. On failure throws Error and cuts the file back to
  /// the line before; if that fails too, gives the file up.
  void append(std::string_view text);
  /// Deletes the file.
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
  std::size_t damaged = 0;  ///< bytes after them that do not form a valid line
};

/// Reads up to the first damaged line; a power failure can damage the last one. Throws Error if the file is
/// not readable.
JournalLines read_journal(const std::filesystem::path& path);

/// Journals in `folder` whose writer is gone, oldest first.
std::vector<std::filesystem::path> unfinished_journals(const std::filesystem::path& folder);
/// Journals in `folder` whose writer lives, oldest first.
std::vector<std::filesystem::path> running_journals(const std::filesystem::path& folder);

}  // namespace headroom
