// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// What /sys/devices/system/cpu tells, read with as few files as there are distinct cores or caches: cheap on
/// machines of hundreds of CPUs. `folder` is that path but in tests.
class CpuFolder {
 public:
  explicit CpuFolder(std::filesystem::path folder = "/sys/devices/system/cpu");

  std::vector<int> online_cpus() const;
  /// Distinct cores that the CPUs belong to.
  int cores(std::span<const int> cpus) const;
  /// The number of a CPU's core: that of its first hardware thread; its own where the kernel tells none.
  int core_of(int cpu) const;
  /// Size of the data or unified caches of one CPU, first level first; empty where the kernel tells none.
  std::vector<std::int64_t> cache_bytes(int cpu) const;
  /// Sizes of the distinct last-level caches of the CPUs, added up; 0 where the kernel tells none.
  std::int64_t last_level_cache_bytes(std::span<const int> cpus) const;

 private:
  std::filesystem::path of_cpu(int cpu) const;
  std::vector<int> siblings_of(int cpu) const;
  std::filesystem::path folder_;
};

/// The kernel's list of numbers: "0-3,8,10-11" is {0, 1, 2, 3, 8, 10, 11}. Empty when the text is not such a
/// list.
std::vector<int> parse_cpu_list(std::string_view text);

/// "307200K", "32M", "512" in bytes; 0 when it is not a size.
std::int64_t parse_cache_size(std::string_view text);

}  // namespace headroom
