// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A folder of the cgroup file system that may limit this process.
struct CgroupFolder {
  std::filesystem::path path;
  int version = 2;
};

/// Where the kernel limits the memory of a process: the folder of its group and of each group above, as far
/// as the mount shows them. From the texts of /proc/self/cgroup and /proc/self/mountinfo (proc(5),
/// cgroups(7)); v1's memory hierarchy and v2's may both be there.
std::vector<CgroupFolder> cgroup_memory_folders(std::string_view self_cgroup, std::string_view mountinfo);

/// The texts of one folder's files; empty where there is no such file.
struct CgroupMemory {
  std::string limit;  ///< memory.max, or memory.limit_in_bytes
  std::string high;   ///< memory.high (v2): beyond it the kernel throttles
  std::string usage;  ///< memory.current, or memory.usage_in_bytes
  std::string stat;   ///< memory.stat
};

/// Bytes that the group leaves: limit - usage + page cache that the kernel gives back without swapping
/// (inactive_file). Nothing where there is no limit; never negative.
std::optional<std::int64_t> cgroup_memory_left(const CgroupMemory& memory);

/// The least that any group above this process leaves. `root` is "/" but in tests.
std::optional<std::int64_t> cgroup_memory_left(const std::filesystem::path& root);

/// Seconds, of all CPUs together, in which a group above this process was held up since it used its quota of
/// CPU time up (cpu.stat; cpu.max of v2, cpu.cfs_quota_us of v1), since the group was made. Nothing where the
/// kernel counts none. `root` is "/" but in tests.
std::optional<double> cgroup_throttled_s(const std::filesystem::path& root);

}  // namespace headroom
