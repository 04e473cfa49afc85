// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

/// Where rank processes meet: rank 0 listens there.
struct Meeting {
  std::string address;
  std::uint16_t port = 0;
};

/// What a launcher told this process about its place among the ranks of a job.
struct RankPlace {
  int rank = 0;
  int size = 1;
  int local_rank = 0;              ///< among the ranks of this machine; the rank where the launcher is silent
  std::optional<int> local_size;   ///< ranks on this machine, where the launcher says it
  std::optional<Meeting> meeting;  ///< of MASTER_ADDR and MASTER_PORT
  bool launcher_listens = false;   ///< torchrun's agent has the port of `meeting`: ranks only connect to it
  std::string launcher;            ///< "torchrun", "Open MPI", "PMI", "SLURM"
  std::string job;                 ///< the same for all ranks of the job on one machine, other jobs' differ
  std::string token{};             ///< of HEADROOM_RANK_TOKEN: what a rank of this job has to say

  /// Whether all ranks are known to run on this machine.
  bool on_one_machine() const { return local_size == size; }
};

/// Value of an environment variable; nothing where it is not set, or empty.
using VariableSource = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

/// The place that a launcher gave this process; nothing where none did. The first set of variables counts
/// that has both rank and size: RANK, WORLD_SIZE, LOCAL_RANK (torchrun); OMPI_COMM_WORLD_RANK, _SIZE,
/// _LOCAL_RANK (mpirun); PMI_RANK, PMI_SIZE, MPI_LOCALRANKID (MPICH, Intel MPI); SLURM_PROCID, SLURM_NTASKS,
/// SLURM_LOCALID (srun). Throws Error where the only set is incomplete, or a value makes no sense.
std::optional<RankPlace> rank_place(const VariableSource& variable = environment_variable);

/// The variables that say `place` to a rank process, as torchrun names them.
std::vector<std::pair<std::string, std::string>> rank_variables(const RankPlace& place);

}  // namespace headroom
