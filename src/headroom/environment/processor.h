// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

/// CPUID register words for vector and matrix instructions, and XCR0, the registers saved by the operating
/// system.
struct IsaWords {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;  ///< sub-leaf 0
  std::uint32_t leaf7_1_eax = 0;                              ///< sub-leaf 1
  std::uint64_t xcr0 = 0;
};

/// In a fixed order, spelled as in Linux: "avx2", "avx512f", "avx512_bf16", ... Source: Intel 64 and IA-32
/// Software Developer's Manual, volume 2A, CPUID.
std::vector<std::string> isa_names(const IsaWords& words);

/// Except on x86, brand and names come from /proc/cpuinfo.
struct CpuIdentity {
  std::string vendor;
  std::string brand;
  int family = 0, model = 0, stepping = 0;
  std::vector<std::string> isa;           ///< usable by programs
  std::vector<std::string> hardware_isa;  ///< the same, even if the operating system disables it
};

CpuIdentity read_cpu_identity();

/// "CPU part" gives the model, "Features" the names.
CpuIdentity parse_arm_cpuinfo(const std::string& cpuinfo);

/// "emerald-rapids", "zen4", "neoverse-v2"; else the brand in lower case with dashes; "unknown-cpu" without a
/// brand.
std::string microarchitecture(const CpuIdentity& cpu);

struct Cache {
  int level = 0;
  std::string type;
  std::int64_t bytes = 0;  ///< per instance
  int instances = 0;
};

/// From hwloc, restricted to the CPUs of the calling thread.
struct Topology {
  std::string cpu_model;
  std::string microarchitecture;
  int packages = 0, cores = 0, processing_units = 0, numa_nodes = 0;
  std::vector<int> allowed_cpus;  ///< operating-system numbers, first hardware threads of all cores first
  std::vector<Cache> caches;      ///< data and unified, L1 first; one entry per size
  std::vector<std::string> isa;

  std::int64_t last_level_cache_bytes() const;  ///< kUnknownCacheBytes if unknown
};

/// Takes a few milliseconds. Throws Error if hwloc fails.
Topology read_topology();

}  // namespace headroom
