// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

/// Register words of x86's CPUID instruction that name vector and matrix instructions, and XCR0, by which the
/// operating system says whose registers it saves.
struct IsaWords {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;  ///< sub-leaf 0
  std::uint32_t leaf7_1_eax = 0;                              ///< sub-leaf 1
  std::uint64_t xcr0 = 0;
};

/// Names of the instruction sets that may be used, in a fixed order: "avx2", "avx512f", "avx512_bf16", ... as
/// Linux spells them. Source: Intel 64 and IA-32 Software Developer's Manual, volume 2A, CPUID.
std::vector<std::string> isa_names(const IsaWords& words);

/// Who made this CPU and what it can do. On others than x86 the brand and the names come from /proc/cpuinfo.
struct CpuIdentity {
  std::string vendor;  ///< "GenuineIntel", "AuthenticAMD"
  std::string brand;   ///< "Intel(R) Xeon(R) Processor"
  int family = 0, model = 0, stepping = 0;
  std::vector<std::string> isa;           ///< what a program may use here
  std::vector<std::string> hardware_isa;  ///< the same, whether or not the operating system has it enabled
};

CpuIdentity read_cpu_identity();

/// From the text of /proc/cpuinfo of a machine that is not x86: "CPU part" gives the model, "Features" the
/// names.
CpuIdentity parse_arm_cpuinfo(const std::string& cpuinfo);

}  // namespace headroom
