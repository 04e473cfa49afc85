// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/topology.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "headroom/base/error.h"
#include "headroom/machine/cpuid.h"
#include "headroom/machine/last_level_cache.h"
#include "headroom/machine/microarchitecture.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using TopologyHandle = std::unique_ptr<hwloc_topology, DestroyTopology>;

/// hwloc itself leaves out what the cgroup forbids; the affinity mask (taskset, Slurm) is applied here.
TopologyHandle load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw Error("cannot read the topology of this machine: hwloc does not start");
  TopologyHandle topology(raw);
  if (hwloc_topology_load(raw) != 0) {
    throw Error(
        fmt::format("cannot read the topology of this machine: {} (is /sys mounted?)", std::strerror(errno)));
  }
  const std::unique_ptr<hwloc_bitmap_s, FreeBitmap> allowed(hwloc_bitmap_alloc());
  for (const int cpu : allowed_cpus()) hwloc_bitmap_set(allowed.get(), static_cast<unsigned>(cpu));
  if (!hwloc_bitmap_iszero(allowed.get())) hwloc_topology_restrict(raw, allowed.get(), 0);
  return topology;
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(hwloc_get_nbobjs_by_type(topology, type), 0);
}

/// First the first hardware thread of every core, then the second of every core, ...
std::vector<int> cpus_by_core(hwloc_topology_t topology) {
  std::vector<int> cpus;
  const auto units = static_cast<std::size_t>(count(topology, HWLOC_OBJ_PU));
  const int cores = count(topology, HWLOC_OBJ_CORE);
  for (unsigned thread = 0; cores > 0 && cpus.size() < units; ++thread) {
    const std::size_t before = cpus.size();
    for (int core = 0; core < cores; ++core) {
      const hwloc_obj_t object = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(core));
      const hwloc_obj_t unit =
          hwloc_get_obj_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_PU, thread);
      if (unit != nullptr) cpus.push_back(static_cast<int>(unit->os_index));
    }
    if (cpus.size() == before) break;
  }
  return cpus.empty() ? allowed_cpus() : cpus;
}

std::vector<Cache> data_caches(hwloc_topology_t topology) {
  std::vector<Cache> caches;
  for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L5CACHE; ++type) {
    const auto kind = static_cast<hwloc_obj_type_t>(type);
    for (int i = 0; i < count(topology, kind); ++i) {
      const auto& found = hwloc_get_obj_by_type(topology, kind, static_cast<unsigned>(i))->attr->cache;
      const int level = static_cast<int>(found.depth);
      const auto bytes = static_cast<std::int64_t>(found.size);
      const auto same = std::find_if(caches.begin(), caches.end(), [&](const Cache& cache) {
        return cache.level == level && cache.bytes == bytes;
      });
      if (same != caches.end()) {
        ++same->instances;
      } else {
        caches.push_back({level, found.type == HWLOC_OBJ_CACHE_DATA ? "data" : "unified", bytes, 1});
      }
    }
  }
  return caches;
}

}  // namespace

std::int64_t Topology::last_level_cache_bytes() const {
  int last = 0;
  for (const Cache& cache : caches) last = std::max(last, cache.level);
  std::int64_t total = 0;
  for (const Cache& cache : caches) {
    if (cache.level == last) total += cache.bytes * cache.instances;
  }
  return total > 0 ? total : kUnknownCacheBytes;
}

Topology read_topology() {
  const TopologyHandle handle = load();
  const CpuIdentity cpu = read_cpu_identity();
  Topology topology;
  topology.cpu_model = cpu.brand;
  topology.microarchitecture = microarchitecture(cpu);
  topology.isa = cpu.isa;
  topology.packages = count(handle.get(), HWLOC_OBJ_PACKAGE);
  topology.cores = count(handle.get(), HWLOC_OBJ_CORE);
  topology.processing_units = count(handle.get(), HWLOC_OBJ_PU);
  topology.numa_nodes = count(handle.get(), HWLOC_OBJ_NUMANODE);
  topology.allowed_cpus = cpus_by_core(handle.get());
  topology.caches = data_caches(handle.get());
  return topology;
}

}  // namespace headroom
