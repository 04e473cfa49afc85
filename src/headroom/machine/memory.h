// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct CgroupFolder {
  std::filesystem::path path;
  int version = 2;
};

/// Memory cgroup folders of a process, v1 and v2: its group and those above that the mount shows. Inputs:
/// /proc/self/cgroup and /proc/self/mountinfo (proc(5), cgroups(7)).
std::vector<CgroupFolder> cgroup_memory_folders(std::string_view self_cgroup, std::string_view mountinfo);

struct CgroupMemory {
  std::string limit;  ///< memory.max, or memory.limit_in_bytes
  std::string high;   ///< memory.high (v2), the throttling limit
  std::string usage;  ///< memory.current, or memory.usage_in_bytes
  std::string stat;   ///< memory.stat
};

/// Bytes, at least 0: limit - usage + reclaimable page cache (inactive_file). Nullopt without a limit.
std::optional<std::int64_t> cgroup_memory_left(const CgroupMemory& memory);

/// The least of all groups of this process. `root` is "/" except in tests.
std::optional<std::int64_t> cgroup_memory_left(const std::filesystem::path& root);

/// CPU seconds, over all CPUs, that the groups of this process were throttled since their creation
/// (cpu.stat). Nullopt if not counted.
std::optional<double> cgroup_throttled_s(const std::filesystem::path& root);

/// Bytes that a process may allocate without swapping or being killed: the least of MemAvailable, cgroup
/// limits, and the address-space limit.
std::int64_t available_memory_bytes();
/// MemTotal; 0 if unknown.
std::int64_t total_memory_bytes();

/// A line is "name:   123 kB".
std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view name);

/// available_memory_bytes without the address-space limit.
std::int64_t system_memory_left(const std::filesystem::path& root);

/// Address space left under `limit`, at least 0; the largest number if unlimited. `statm`: /proc/self/statm;
/// its first field is the number of mapped pages.
std::int64_t address_space_left(std::uint64_t limit, std::string_view statm, std::int64_t page_bytes);

/// Installed memory, stable across kernels: the memory blocks of sysfs, else MemTotal; 0 if unknown.
std::int64_t fitted_memory_bytes(const std::filesystem::path& root);

/// Caps the memory of this process (RLIMIT_DATA: heap and anonymous mappings, not files or programs) and its
/// children. Allocations beyond throw std::bad_alloc in any library.
class MemoryCap {
 public:
  explicit MemoryCap(std::int64_t bytes);
  ~MemoryCap();
  MemoryCap(const MemoryCap&) = delete;
  MemoryCap& operator=(const MemoryCap&) = delete;

 private:
  std::uint64_t before_ = 0;
  bool is_set_ = false;
};

/// On x86-64, and on aarch64 with 4 KiB pages.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// "always", "madvise" or "never"; empty if unknown.
std::string huge_page_policy(const std::filesystem::path& root = "/");

/// Bytes of an anonymous mapping in huge pages; nullopt if unknown. Reads page tables (since Linux 6.7), else
/// /proc/self/smaps.
std::optional<std::size_t> huge_page_bytes(const void* start, std::size_t bytes);

/// Assumes an even share for mappings that the kernel merged.
std::optional<std::size_t> huge_page_bytes_of_smaps(std::string_view smaps, std::size_t start,
                                                    std::size_t bytes);

}  // namespace headroom
