// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace headroom {

/// Reads /sys/devices/system/cpu, one file per core or cache: cheap with hundreds of CPUs.
class CpuFolder {
 public:
  explicit CpuFolder(std::filesystem::path folder = "/sys/devices/system/cpu");

  std::vector<int> online_cpus() const;
  int cores(std::span<const int> cpus) const;
  /// First hardware thread of the core, or `cpu` if unknown.
  int core_of(int cpu) const;
  /// Data and unified, first level first; empty if unknown.
  std::vector<std::int64_t> cache_bytes(int cpu) const;
  /// Sum of distinct caches; 0 if unknown.
  std::int64_t last_level_cache_bytes(std::span<const int> cpus) const;

 private:
  std::filesystem::path of_cpu(int cpu) const;
  std::vector<int> siblings_of(int cpu) const;
  std::filesystem::path folder_;
};

/// "0-3,8,10-11" is {0, 1, 2, 3, 8, 10, 11}; empty for other text.
std::vector<int> parse_cpu_list(std::string_view text);

/// Bytes of "307200K", "32M" or "512"; 0 for other text.
std::int64_t parse_cache_size(std::string_view text);

/// Exceeds most last-level caches of one socket: too small a guess would call cached data cold.
inline constexpr std::int64_t kUnknownCacheBytes = std::int64_t{32} << 20;

/// Of the CPUs that the calling thread may use, from sysfs; kUnknownCacheBytes if unknown.
std::int64_t last_level_cache_bytes();

/// 64 if unknown.
std::int64_t cache_line_bytes();

}  // namespace headroom
