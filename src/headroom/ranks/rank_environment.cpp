// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_environment.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <set>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  std::array<const char*, 2> job;
  /// SLURM sets only the size in an allocation's shell.
  bool size_may_stand_alone = false;
};

constexpr std::array<Launcher, 4> kLaunchers{{
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", {"PMI_JOBID", "PMI_PORT"}},
    {"SLURM", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "", {"SLURM_JOB_ID", "SLURM_STEP_ID"}, true},
}};

constexpr const char* kNoRank =
    "; a launcher (torchrun, mpirun, srun) sets both; without a launcher, unset both";

int integer_of(const char* name, const std::string& text, std::int64_t least, std::int64_t most) {
  const auto value = to_integer(text);
  if (!value || *value < least || *value > most) {
    throw Error(fmt::format("the environment variable {}={} is not an integer from {} to {}{}", name,
                            quote(text), least, most, kNoRank));
  }
  return static_cast<int>(*value);
}

std::optional<int> integer_variable(const VariableSource& variable, const char* name, std::int64_t least,
                                    std::int64_t most) {
  const auto text = *name == '\0' ? std::nullopt : variable(name);
  if (!text) return std::nullopt;
  return integer_of(name, *text, least, most);
}

std::optional<Rendezvous> rendezvous_of(const VariableSource& variable) {
  const auto address = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  if (!address && !port) return std::nullopt;
  if (!address || !port) {
    throw Error(fmt::format("{} is set but {} is not: set both to the address and port of rank 0, or neither",
                            address ? "MASTER_ADDR" : "MASTER_PORT",
                            address ? "MASTER_PORT" : "MASTER_ADDR"));
  }
  return Rendezvous{*address, static_cast<std::uint16_t>(integer_of("MASTER_PORT", *port, 1, 65535))};
}

std::string job_of(const Launcher& launcher, const VariableSource& variable) {
  std::string job;
  for (const char* name : launcher.job) {
    if (const auto value = variable(name)) job += "/" + *value;
  }
  // The parent is the launcher.
  return job.empty() ? fmt::format("/parent {}", ::getppid()) : job;
}

std::optional<int> local_size_of(const Launcher& launcher, const VariableSource& variable, int size) {
  if (const auto count = integer_variable(variable, launcher.local_size, 1, size)) return count;
  if (std::string_view(launcher.name) != "SLURM") return std::nullopt;
  auto machines = variable("SLURM_STEP_NUM_NODES");
  if (!machines) machines = variable("SLURM_NNODES");
  return machines == "1" ? std::optional(size) : std::nullopt;
}

RankPlace place_of(const Launcher& launcher, const VariableSource& variable) {
  RankPlace place;
  place.launcher = launcher.name;
  place.size = integer_of(launcher.size, *variable(launcher.size), 1, std::numeric_limits<int>::max());
  place.rank = integer_of(launcher.rank, *variable(launcher.rank), 0, std::numeric_limits<int>::max());
  if (place.rank >= place.size) {
    throw Error(fmt::format("{}={} is not a rank of {}={}: ranks start at 0{}", launcher.rank, place.rank,
                            launcher.size, place.size, kNoRank));
  }
  place.local_rank = integer_variable(variable, launcher.local_rank, 0, place.size - 1).value_or(place.rank);
  place.local_size = local_size_of(launcher, variable, place.size);
  place.meeting = rendezvous_of(variable);
  place.launcher_listens = place.meeting && variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  // Ranks started by hand share only the meeting.
  place.job =
      launcher.name + (place.meeting ? fmt::format("/{}:{}", place.meeting->address, place.meeting->port)
                                     : job_of(launcher, variable));
  place.token = variable("HEADROOM_RANK_TOKEN").value_or("");
  return place;
}

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

std::string local_end(const addrinfo& there) {
  const Descriptor socket(::socket(there.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage here{};
  socklen_t size = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (!socket.is_open() || ::connect(socket.get(), there.ai_addr, there.ai_addrlen) != 0 ||
      ::getsockname(socket.get(), address, &size) != 0) {
    return "";
  }
  std::array<char, NI_MAXHOST> text{};
  return ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0 ? text.data()
                                                                                                 : "";
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<RankPlace> rank_place(const VariableSource& variable) {
  for (const Launcher& launcher : kLaunchers) {
    if (variable(launcher.rank) && variable(launcher.size)) return place_of(launcher, variable);
  }
  for (const Launcher& launcher : kLaunchers) {
    const bool rank = variable(launcher.rank).has_value(), size = variable(launcher.size).has_value();
    if (!rank && (!size || launcher.size_may_stand_alone)) continue;
    throw Error(fmt::format("the environment has {} but not {}{}", rank ? launcher.rank : launcher.size,
                            rank ? launcher.size : launcher.rank, kNoRank));
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> rank_variables(const RankPlace& place) {
  std::vector<std::pair<std::string, std::string>> variables{
      {"RANK", std::to_string(place.rank)},
      {"WORLD_SIZE", std::to_string(place.size)},
      {"LOCAL_RANK", std::to_string(place.local_rank)},
  };
  if (place.local_size) variables.emplace_back("LOCAL_WORLD_SIZE", std::to_string(*place.local_size));
  if (place.meeting) {
    variables.emplace_back("MASTER_ADDR", place.meeting->address);
    variables.emplace_back("MASTER_PORT", std::to_string(place.meeting->port));
  }
  return variables;
}

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

std::vector<int> pin_to_rank_cpus(const RankPlace& place, int threads) {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2) return {};
  std::vector<int> mine = cpus_of_rank(place, allowed, threads);
  if (!pin_this_thread(mine)) mine.clear();
  return mine;
}

std::string local_address_to(const Rendezvous& place) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (::getaddrinfo(place.address.c_str(), std::to_string(place.port).c_str(), &hints, &found) != 0)
    return "";
  std::string local;
  for (const addrinfo* entry = found; entry != nullptr && local.empty(); entry = entry->ai_next)
    local = local_end(*entry);
  ::freeaddrinfo(found);
  return local;
}

}  // namespace headroom
