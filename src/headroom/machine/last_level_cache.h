// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headroom {

/// Where the machine does not tell. More than most last-level caches of one socket: a guess too small would
/// call cached data cold.
inline constexpr std::int64_t kUnknownCacheBytes = std::int64_t{32} << 20;

/// Size in bytes of the last-level caches of the CPUs that the calling thread may use, from sysfs alone:
/// cheap, and needs no library, for runners. kUnknownCacheBytes if unknown.
std::int64_t last_level_cache_bytes();

/// What a cache is filled by at a time; 64 where the system does not tell.
std::int64_t cache_line_bytes();

}  // namespace headroom
