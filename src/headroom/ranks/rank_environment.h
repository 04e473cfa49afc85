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

/// Where ranks meet; rank 0 listens.
struct Rendezvous {
  std::string address;
  std::uint16_t port = 0;
};

/// The place of this process in a job.
struct RankPlace {
  int rank = 0;
  int size = 1;
  int local_rank = 0;                 ///< among the ranks of this machine; `rank` if unknown
  std::optional<int> local_size;      ///< ranks on this machine, if known
  std::optional<Rendezvous> meeting;  ///< from MASTER_ADDR and MASTER_PORT
  bool launcher_listens = false;      ///< torchrun's agent listens at `meeting`
  std::string launcher;               ///< "torchrun", "Open MPI", "PMI", "SLURM"
  std::string job;                    ///< identifies the job on a machine
  std::string token{};                ///< from HEADROOM_RANK_TOKEN, a secret

  bool is_single_machine() const { return local_size == size; }
};

/// Nothing if unset or empty.
using VariableSource = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

/// Reads the first complete set: RANK, WORLD_SIZE, LOCAL_RANK (torchrun); OMPI_COMM_WORLD_RANK, _SIZE,
/// _LOCAL_RANK (mpirun); PMI_RANK, PMI_SIZE, MPI_LOCALRANKID (MPICH, Intel MPI); SLURM_PROCID, SLURM_NTASKS,
/// SLURM_LOCALID (srun). Throws Error if the only set is incomplete or a value is invalid.
std::optional<RankPlace> rank_place(const VariableSource& variable = environment_variable);

/// Named as by torchrun.
std::vector<std::pair<std::string, std::string>> rank_variables(const RankPlace& place);

/// `threads` CPUs on different cores of the rank's share, or one CPU in turn with more ranks than cores.
/// `allowed`: of the process.
std::vector<int> cpus_of_rank(const RankPlace& place, std::span<const int> allowed, int threads,
                              const CpuFolder& cpus = CpuFolder());

std::vector<int> cores_of(std::span<const int> cpus, const CpuFolder& folder = CpuFolder());

/// Binds this thread and those started later; an existing process group's threads stay free. Returns the
/// CPUs; none if the kernel refused or there is only one.
std::vector<int> pin_to_rank_cpus(const RankPlace& place, int threads);

/// Numeric source address of packets to `place`, as the host's name may resolve to an unreachable one. Empty
/// without a route. Sends nothing.
std::string local_address_to(const Rendezvous& place);

}  // namespace headroom
