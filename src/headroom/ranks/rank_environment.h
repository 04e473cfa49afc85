// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headroom/machine/cpu_folder.h"

namespace headroom {

/// The address where rank processes meet. Rank 0 listens.
struct Meeting {
  std::string address;
  std::uint16_t port = 0;
};

/// The place of this process among the ranks of a job, from its launcher.
struct RankPlace {
  int rank = 0;
  int size = 1;
  int local_rank = 0;              ///< among the ranks of this machine; `rank` if unknown
  std::optional<int> local_size;   ///< ranks on this machine, if known
  std::optional<Meeting> meeting;  ///< from MASTER_ADDR and MASTER_PORT
  bool launcher_listens = false;   ///< torchrun's agent listens at `meeting`; ranks only connect
  std::string launcher;            ///< "torchrun", "Open MPI", "PMI", "SLURM"
  std::string job;                 ///< identifies the job on one machine
  std::string token{};             ///< from HEADROOM_RANK_TOKEN: secret of the job's ranks

  /// Whether all ranks are known to run on this machine.
  bool on_one_machine() const { return local_size == size; }
};

/// Returns the value of an environment variable; nothing if unset or empty.
using VariableSource = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

/// Returns the place from the first complete set of launcher variables, or nothing. Sets: RANK, WORLD_SIZE,
/// LOCAL_RANK (torchrun); OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK (mpirun); PMI_RANK, PMI_SIZE,
/// MPI_LOCALRANKID (MPICH, Intel MPI); SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID (srun). Throws Error if the
/// only set is incomplete or a value is invalid.
std::optional<RankPlace> rank_place(const VariableSource& variable = environment_variable);

/// Returns the variables that pass `place` to a rank process, named as by torchrun.
std::vector<std::pair<std::string, std::string>> rank_variables(const RankPlace& place);

/// Returns CPUs for a rank: `threads` CPUs on different cores out of its share of the cores, or one CPU, in
/// turn, if there are more ranks than cores (first hardware threads first). `allowed` are the CPUs that the
/// process may use, so that a launcher's binding is respected; empty gives none.
std::vector<int> cpus_of_rank(const RankPlace& place, std::span<const int> allowed, int threads,
                              const CpuFolder& cpus = CpuFolder());

/// Returns the cores of these CPUs as numbers of their first hardware threads, ascending, without duplicates.
std::vector<int> cores_of(std::span<const int> cpus, const CpuFolder& folder = CpuFolder());

/// Binds the calling thread, and threads that it starts later, to the CPUs of its rank, so that the scheduler
/// does not move ranks onto each other. Call after a process group has started its threads, which stay free.
/// Returns the CPUs; none if the kernel refused or there is only one CPU.
std::vector<int> keep_to_cpus_of_rank(const RankPlace& place, int threads);

/// Returns this machine's numeric source address for packets to `place`. The host's own name may resolve to
/// an unreachable address or another network. Empty without a route. Sends nothing.
std::string local_address_to(const Meeting& place);

}  // namespace headroom
