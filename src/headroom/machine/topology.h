// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

struct Cache {
  int level = 0;
  std::string type;        ///< "data", "unified"
  std::int64_t bytes = 0;  ///< of one instance
  int instances = 0;
};

/// What hwloc says about this machine, restricted to what the calling thread may use.
struct Topology {
  std::string cpu_model;
  std::string microarchitecture;  ///< "emerald-rapids"; the model's name in lower case where it is not known
  int packages = 0, cores = 0, processing_units = 0, numa_nodes = 0;
  std::vector<int> allowed_cpus;  ///< operating-system numbers, one hardware thread of each core first
  std::vector<Cache> caches;  ///< data and unified, L1 first; caches of unequal size are entries of their own
  std::vector<std::string> isa;  ///< "avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", ...

  std::int64_t last_level_cache_bytes()
      const;  ///< all instances of the last level together; 32 MiB if unknown
};

/// Reads the topology once a call (a few milliseconds). Throws Error when hwloc cannot.
Topology read_topology();

}  // namespace headroom
