// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace headroom {

struct ResidentPages {
  std::uint64_t files = 0;  ///< with at least one page in memory
  std::uint64_t bytes = 0;  ///< of those pages
};

/// Takes a file, or all files of a folder, out of the page cache (written back first: dirty pages stay
/// otherwise). Throws Error when one cannot be opened.
void drop_pages_of(const std::filesystem::path& path);

/// What of a file, or of all files of a folder, is in the page cache (mincore). Files that this user could
/// not write to count as fully there: the kernel does not tell. Throws Error.
ResidentPages resident_pages_of(const std::filesystem::path& path);

/// Why this process may not drop the page cache of the machine; empty where it may.
std::string why_not_drop_all_pages();

/// Writes back everything and drops the page cache of the machine, dentries and inodes included. Throws
/// Error.
void drop_all_pages();

/// "Cached" of /proc/meminfo in bytes; 0 where the kernel does not tell.
std::uint64_t all_cached_bytes();

}  // namespace headroom
