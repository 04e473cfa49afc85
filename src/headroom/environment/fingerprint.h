// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/environment.h"

namespace headroom {

/// Fields are empty outside git, before the first commit, on a detached head (no branch), without a remote.
struct GitState {
  std::string sha;
  std::string branch;
  std::string repo;  ///< "owner/name" of the remote "origin", else its address without secrets
};

/// Reads git's files from `folder` upwards, for linked working trees, submodules and packed references too.
/// Never throws. Source: gitrepository-layout(5).
GitState read_git_state(const std::filesystem::path& folder);

std::string origin_address(std::string_view config);

/// "owner/name" of "https://user:secret@host/owner/name.git" and "git@host:owner/name.git"; without a host,
/// the last folder.
std::string repository_name(std::string_view address);

struct GpuFiles {
  /// One entry per GPU, sorted: its PCI ids ("10de:2335"), else its name, else "nvidia". Covers the machine
  /// if the kernel shows its PCI bus, else this container.
  std::vector<std::string> kinds;
  std::vector<std::string> names;  ///< "NVIDIA H200", in PCI bus order; empty if unknown
};

GpuFiles read_gpu_files(const std::filesystem::path& root = "/");

/// Short stable name of this machine ("emerald-rapids-2c-4f1c9a02"), from CPU model and microarchitecture
/// flags, core count, cache sizes, memory in GiB, NVIDIA GPUs and the host name (HEADROOM_MACHINE overrides
/// it to pool equal machines). Independent of reboots, kernel updates and the limits of this process.
std::string machine_fingerprint();

/// Inputs of the fingerprint; limits of this process do not matter.
struct MachineFacts {
  std::string microarchitecture, cpu_model;
  int stepping = 0;
  std::vector<std::string> isa;             ///< of the hardware, even if the kernel disables it
  int cores = 0, processing_units = 0;      ///< online
  std::vector<std::int64_t> cache_bytes;    ///< data and unified caches of the first CPU, L1 first
  std::int64_t last_level_cache_bytes = 0;  ///< total
  std::int64_t memory_bytes = 0;            ///< installed
  std::vector<std::string> gpus;            ///< GpuFiles::kinds
  std::string host;                         ///< HEADROOM_MACHINE, else the host name
  std::string first_gpu_name = {};          ///< not part of the fingerprint
};

MachineFacts read_machine_facts();
std::string fingerprint_of(const MachineFacts& facts);

/// Stores `command` without secrets. Unknown fields stay empty.
Environment read_environment(const std::vector<std::string>& command);

}  // namespace headroom
