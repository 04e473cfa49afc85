// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_cpus.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "headroom/process/affinity.h"

namespace headroom {
namespace {

/// One hardware thread of each core first, then the others; and how many cores there are.
struct CpusByCore {
  std::vector<int> cpus;
  std::size_t cores = 0;
};

CpusByCore by_core(std::span<const int> allowed, const CpuFolder& folder) {
  CpusByCore ordered;
  std::vector<int> others;
  std::set<int> seen;
  for (const int cpu : allowed) {
    (seen.insert(folder.core_of(cpu)).second ? ordered.cpus : others).push_back(cpu);
  }
  ordered.cores = ordered.cpus.size();
  ordered.cpus.insert(ordered.cpus.end(), others.begin(), others.end());
  return ordered;
}

}  // namespace

std::vector<int> cpus_of_rank(const RankPlace& place, std::span<const int> allowed, int threads,
                              const CpuFolder& cpus) {
  if (allowed.empty()) return {};
  const CpusByCore ordered = by_core(allowed, cpus);
  const auto rank = static_cast<std::size_t>(place.local_rank);
  const std::size_t ranks =
      std::max(static_cast<std::size_t>(place.local_size.value_or(place.size)), rank + 1);
  if (ranks > ordered.cores) return {ordered.cpus[rank % ordered.cpus.size()]};
  const std::size_t first = rank * ordered.cores / ranks, end = (rank + 1) * ordered.cores / ranks;
  const std::size_t count = std::min(end - first, static_cast<std::size_t>(std::max(threads, 1)));
  const auto begin = ordered.cpus.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::vector<int> cores_of(std::span<const int> cpus, const CpuFolder& folder) {
  std::set<int> cores;
  for (const int cpu : cpus) cores.insert(folder.core_of(cpu));
  return {cores.begin(), cores.end()};
}

std::vector<int> keep_to_cpus_of_rank(const RankPlace& place, int threads) {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2) return {};
  std::vector<int> mine = cpus_of_rank(place, allowed, threads);
  if (!pin_this_thread(mine)) mine.clear();
  return mine;
}

}  // namespace headroom
