// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace headroom {

/// Bytes that a process may still take without swapping or being killed: the least of MemAvailable and what
/// the cgroup (v2 or v1, each level up to the root) leaves, and the address-space limit.
std::int64_t available_memory_bytes();
/// MemTotal; 0 where the kernel does not tell.
std::int64_t total_memory_bytes();

/// The value of "name:   123 kB" in the text of /proc/meminfo, in bytes.
std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view name);

/// What available_memory_bytes tells but for the address-space limit, from the files under `root` ("/" but in
/// tests).
std::int64_t system_memory_left(const std::filesystem::path& root);

/// What a limit on the address space leaves to a process with this text in /proc/self/statm, whose first
/// field is the number of pages mapped. The largest number where there is no limit; never negative.
std::int64_t address_space_left(std::uint64_t limit, std::string_view statm, std::int64_t page_bytes);

/// Memory that is fitted, kernel's share included, so that it stays the same from kernel to kernel: the
/// memory blocks of sysfs; MemTotal where the kernel lists none. 0 where it tells neither.
std::int64_t fitted_memory_bytes(const std::filesystem::path& root);

}  // namespace headroom
