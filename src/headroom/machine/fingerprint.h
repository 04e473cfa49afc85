// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/record/environment.h"

namespace headroom {

/// A short stable name of this machine ("emerald-rapids-2c-4f1c9a02"): CPU model and microarchitecture flags,
/// core count, cache sizes, memory size to the GiB, NVIDIA's GPUs where there are any, host name
/// (HEADROOM_MACHINE overrides the host name, for fleets of equal machines that shall be pooled). Survives
/// reboots and kernel updates, and does not depend on what this process may use.
std::string machine_fingerprint();

/// What a fingerprint is made of: of the whole machine, not of what this process may use.
struct MachineFacts {
  std::string microarchitecture, cpu_model;
  int stepping = 0;
  std::vector<std::string> isa;             ///< of the hardware, whether or not the kernel enables it
  int cores = 0, processing_units = 0;      ///< online
  std::vector<std::int64_t> cache_bytes;    ///< data and unified of the first CPU, L1 first
  std::int64_t last_level_cache_bytes = 0;  ///< of all together
  std::int64_t memory_bytes = 0;            ///< fitted
  std::vector<std::string> gpus;            ///< their kinds (gpu_files.h)
  std::string host;                         ///< HEADROOM_MACHINE, else the host name
  std::string first_gpu_name = {};          ///< as the driver calls it; no part of the fingerprint
};

MachineFacts read_machine_facts();
std::string fingerprint_of(const MachineFacts& facts);

/// Fills machines, fingerprint, governor, timestamp, git and version fields for a run of `command`, which is
/// kept without its secrets. What cannot be read stays empty; never throws for it.
Environment read_environment(const std::vector<std::string>& command);

}  // namespace headroom
