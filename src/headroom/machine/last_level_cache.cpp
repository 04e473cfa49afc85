// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/last_level_cache.h"

#include <unistd.h>

#include "headroom/machine/cpu_folder.h"
#include "headroom/process/affinity.h"

namespace headroom {

std::int64_t last_level_cache_bytes() {
  const std::int64_t bytes = CpuFolder().last_level_cache_bytes(allowed_cpus());
  return bytes > 0 ? bytes : kUnknownCacheBytes;
}

std::int64_t cache_line_bytes() {
  constexpr std::int64_t kUsual = 64;
  const long bytes = ::sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  return bytes > 0 ? bytes : kUsual;
}

}  // namespace headroom
