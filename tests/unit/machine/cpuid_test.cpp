// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/cpuid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "headroom/base/text.h"
#include "headroom/machine/microarchitecture.h"
#include "headroom/machine/text_file.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t bit(int n) {
  return 1U << n;
}

IsaWords server_words() {
  IsaWords words;
  words.leaf1_ecx = bit(12) | bit(28);
  words.leaf7_ebx = bit(5) | bit(16);
  words.leaf7_ecx = bit(11);
  words.leaf7_edx = bit(22) | bit(23) | bit(24) | bit(25);
  words.leaf7_1_eax = bit(4) | bit(5);
  words.xcr0 = 0x602E7;
  return words;
}

TEST(Cpuid, NamesFollowTheBits) {
  EXPECT_THAT(isa_names(server_words()),
              ElementsAre("fma", "avx", "avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16",
                          "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"));
  EXPECT_THAT(isa_names(IsaWords{}), IsEmpty());
}

TEST(Cpuid, WhatTheSystemDoesNotSaveCannotBeUsed) {
  IsaWords words = server_words();
  words.xcr0 = 0xE7;
  const std::vector<std::string> without_amx = isa_names(words);
  EXPECT_EQ(without_amx.back(), "avx512_fp16");
  words.xcr0 = 0x7;
  EXPECT_THAT(isa_names(words), ElementsAre("fma", "avx", "avx2", "avx_vnni"));
  words.xcr0 = 0x3;
  EXPECT_THAT(isa_names(words), IsEmpty());
}

CpuIdentity identity(const std::string& vendor, int family, int model, const std::string& brand = "") {
  CpuIdentity cpu;
  cpu.vendor = vendor;
  cpu.family = family;
  cpu.model = model;
  cpu.brand = brand;
  return cpu;
}

TEST(Cpuid, DesignsByFamilyAndModel) {
  EXPECT_EQ(microarchitecture(identity("GenuineIntel", 6, 207)), "emerald-rapids");
  EXPECT_EQ(microarchitecture(identity("GenuineIntel", 6, 0x8F)), "sapphire-rapids");
  EXPECT_EQ(microarchitecture(identity("AuthenticAMD", 0x19, 0x01)), "zen3");
  EXPECT_EQ(microarchitecture(identity("AuthenticAMD", 0x19, 0x11)), "zen4");
  EXPECT_EQ(microarchitecture(identity("AuthenticAMD", 0x1A, 0x02)), "zen5");
}

TEST(Cpuid, UnknownDesignsAreNamedByTheirBrand) {
  EXPECT_EQ(microarchitecture(identity("GenuineIntel", 19, 1, "Intel(R) Xeon(R) 9999X CPU @ 2.20GHz")),
            "intel-xeon-9999x");
  EXPECT_EQ(microarchitecture(identity("Other", 1, 1, "ACME  Fast/2 64-Core Processor")),
            "acme-fast-2-64-core");
  EXPECT_EQ(microarchitecture(identity("", 0, 0)), "unknown-cpu");
}

TEST(Cpuid, ArmMachines) {
  const CpuIdentity cpu = parse_arm_cpuinfo(
      "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd asimdhp asimddp sve i8mm bf16 dcpodp\n"
      "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: "
      "1\n");
  EXPECT_EQ(microarchitecture(cpu), "neoverse-v2");
  EXPECT_THAT(cpu.isa, ElementsAre("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve"));
  EXPECT_EQ(cpu.stepping, 1);
}

#if defined(__x86_64__)
/// The value of the first line of /proc/cpuinfo with this name.
std::string kernel_says(std::string_view name) {
  for (const std::string& line : split(text_of_file("/proc/cpuinfo"), '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trimmed(std::string_view(line).substr(0, colon)) != name) continue;
    return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Cpuid, AgreesWithTheKernel) {
  const CpuIdentity cpu = read_cpu_identity();
  EXPECT_EQ(cpu.vendor, kernel_says("vendor_id"));
  EXPECT_EQ(cpu.brand, kernel_says("model name"));
  EXPECT_EQ(std::to_string(cpu.family), kernel_says("cpu family"));
  EXPECT_EQ(std::to_string(cpu.model), kernel_says("model"));
  EXPECT_EQ(std::to_string(cpu.stepping), kernel_says("stepping"));
  const std::vector<std::string> flags = split(kernel_says("flags"), ' ');
  for (const char* name :
       {"fma", "f16c", "avx", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl",
        "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"}) {
    EXPECT_EQ(has(cpu.isa, name), has(flags, name)) << name;
  }
}
#endif

}  // namespace
}  // namespace headroom
