// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace headroom {

/// Reader of /sys/devices/system/cpu. Reads as few files as there are distinct cores or caches: cheap on
/// machines with hundreds of CPUs. Tests pass another `folder`.
class CpuFolder {
 public:
  explicit CpuFolder(std::filesystem::path folder = "/sys/devices/system/cpu");

  std::vector<int> online_cpus() const;
  /// Number of distinct cores of the CPUs.
  int cores(std::span<const int> cpus) const;
  /// Core number of a CPU: its first hardware thread, or itself if unknown.
  int core_of(int cpu) const;
  /// Sizes of a CPU's data and unified caches, first level first; empty if unknown.
  std::vector<std::int64_t> cache_bytes(int cpu) const;
  /// Total size of the CPUs' distinct last-level caches; 0 if unknown.
  std::int64_t last_level_cache_bytes(std::span<const int> cpus) const;

 private:
  std::filesystem::path of_cpu(int cpu) const;
  std::vector<int> siblings_of(int cpu) const;
  std::filesystem::path folder_;
};

/// Parses the kernel's list format: "0-3,8,10-11" is {0, 1, 2, 3, 8, 10, 11}. Returns an empty list for other
/// text.
std::vector<int> parse_cpu_list(std::string_view text);

/// Parses "307200K", "32M" or "512" to bytes; 0 for other text.
std::int64_t parse_cache_size(std::string_view text);

/// Assumed if unknown. Larger than most last-level caches of one socket, because too small a guess would call
/// cached data cold.
inline constexpr std::int64_t kUnknownCacheBytes = std::int64_t{32} << 20;

/// Total size of the last-level caches of the CPUs that the calling thread may use; kUnknownCacheBytes if
/// unknown. Reads sysfs only.
std::int64_t last_level_cache_bytes();

/// Cache line size; 64 if unknown.
std::int64_t cache_line_bytes();

}  // namespace headroom
