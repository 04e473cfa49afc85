// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "headroom/machine/cpuid.h"
#include "headroom/machine/last_level_cache.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

TEST(Topology, OfThisProcess) {
  const Topology topology = read_topology();
  std::vector<int> cpus = topology.allowed_cpus;
  std::sort(cpus.begin(), cpus.end());
  EXPECT_EQ(cpus, allowed_cpus());
  EXPECT_EQ(topology.processing_units, static_cast<int>(cpus.size()));
  EXPECT_GE(topology.cores, 1);
  EXPECT_LE(topology.cores, topology.processing_units);
  EXPECT_GE(topology.packages, 1);
  EXPECT_GE(topology.numa_nodes, 1);
  EXPECT_FALSE(topology.cpu_model.empty());
  EXPECT_EQ(topology.isa, read_cpu_identity().isa);
}

TEST(Topology, CachesRiseByLevel) {
  const Topology topology = read_topology();
  const auto by_level = [](const Cache& a, const Cache& b) { return a.level < b.level; };
  EXPECT_TRUE(std::is_sorted(topology.caches.begin(), topology.caches.end(), by_level));
  for (const Cache& cache : topology.caches) {
    EXPECT_TRUE(cache.type == "data" || cache.type == "unified") << cache.type;
    EXPECT_GT(cache.instances, 0);
  }
  EXPECT_EQ(topology.last_level_cache_bytes(), last_level_cache_bytes()) << "hwloc and sysfs agree";
}

TEST(Topology, FollowsTheAffinityMask) {
  std::thread([] {
    const int cpu = allowed_cpus().back();
    ASSERT_TRUE(pin_this_thread(cpu));
    const Topology topology = read_topology();
    EXPECT_EQ(topology.allowed_cpus, std::vector<int>{cpu});
    EXPECT_EQ(topology.processing_units, 1);
    EXPECT_EQ(topology.cores, 1);
  }).join();
}

TEST(Topology, LastLevelAddsUpAllItsInstances) {
  Topology topology;
  EXPECT_EQ(topology.last_level_cache_bytes(), 32 << 20) << "unknown";
  topology.caches = {{1, "data", 48 << 10, 4}, {3, "unified", 32 << 20, 2}, {2, "unified", 1 << 20, 4}};
  EXPECT_EQ(topology.last_level_cache_bytes(), 64 << 20);
  topology.caches.push_back({3, "unified", 8 << 20, 1});
  EXPECT_EQ(topology.last_level_cache_bytes(), 72 << 20) << "of unequal size";
}

}  // namespace
}  // namespace headroom
