// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "headroom/machine/cpu_folder.h"
#include "headroom/ranks/rank_environment.h"

namespace headroom {

/// CPUs of a rank that no other rank of its machine has, while there are cores enough: `threads` of them, one
/// of each core, out of the rank's share of the cores. Where there are more ranks than cores, one CPU each by
/// turns, the second hardware threads of the cores after the first. `allowed`: the CPUs that the process may
/// run on; empty gives none. A launcher that bound each rank to CPUs of its own is followed, as `allowed` are
/// then those.
std::vector<int> cpus_of_rank(const RankPlace& place, std::span<const int> allowed, int threads,
                              const CpuFolder& cpus = CpuFolder());

/// The cores of these CPUs, by the number of their first hardware thread, ascending and each once.
std::vector<int> cores_of(std::span<const int> cpus, const CpuFolder& folder = CpuFolder());

/// Keeps the calling thread, and those that it starts from now on, to the CPUs of its rank, so that the
/// scheduler does not move ranks onto each other. For after a process group has started its threads, which
/// stay free.
/// Gives the CPUs; none where the kernel refused or there is one CPU only.
std::vector<int> keep_to_cpus_of_rank(const RankPlace& place, int threads);

}  // namespace headroom
