// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <thread>

#include "../file_tree.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/environment/processor.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/machine/noise.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

using namespace testing;

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
std::string is_matmul_kernel(std::string_view name) {
  for (const std::string& line : split(read_file_or_empty("/proc/cpuinfo"), '\n')) {
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
  EXPECT_EQ(cpu.vendor, is_matmul_kernel("vendor_id"));
  EXPECT_EQ(cpu.brand, is_matmul_kernel("model name"));
  EXPECT_EQ(std::to_string(cpu.family), is_matmul_kernel("cpu family"));
  EXPECT_EQ(std::to_string(cpu.model), is_matmul_kernel("model"));
  EXPECT_EQ(std::to_string(cpu.stepping), is_matmul_kernel("stepping"));
  const std::vector<std::string> flags = split(is_matmul_kernel("flags"), ' ');
  for (const char* name :
       {"fma", "f16c", "avx", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl",
        "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"}) {
    EXPECT_EQ(has(cpu.isa, name), has(flags, name)) << name;
  }
}
#endif

TEST(Topology, OfThisProcess) {
  const Topology topology = read_topology();
  std::vector<int> cpus = topology.allowed_cpus;
  std::sort(cpus.begin(), cpus.end());
  EXPECT_EQ(cpus, allowed_cpus());
  EXPECT_EQ(topology.processing_units, static_cast<int>(cpus.size()));
  EXPECT_GE(topology.cores, 1);
  EXPECT_LE(topology.cores, topology.processing_units);
  EXPECT_GE(topology.packages, 1);
  EXPECT_GE(topology.numa_nodes, 1);
  EXPECT_FALSE(topology.cpu_model.empty());
  EXPECT_EQ(topology.isa, read_cpu_identity().isa);
}

TEST(Topology, CachesRiseByLevel) {
  const Topology topology = read_topology();
  const auto by_level = [](const Cache& a, const Cache& b) { return a.level < b.level; };
  EXPECT_TRUE(std::is_sorted(topology.caches.begin(), topology.caches.end(), by_level));
  for (const Cache& cache : topology.caches) {
    EXPECT_TRUE(cache.type == "data" || cache.type == "unified") << cache.type;
    EXPECT_GT(cache.instances, 0);
  }
  EXPECT_EQ(topology.last_level_cache_bytes(), last_level_cache_bytes()) << "hwloc and sysfs agree";
}

TEST(Topology, FollowsTheAffinityMask) {
  std::thread([] {
    const int cpu = allowed_cpus().back();
    ASSERT_TRUE(pin_this_thread(cpu));
    const Topology topology = read_topology();
    EXPECT_EQ(topology.allowed_cpus, std::vector<int>{cpu});
    EXPECT_EQ(topology.processing_units, 1);
    EXPECT_EQ(topology.cores, 1);
  }).join();
}

TEST(Topology, LastLevelAddsUpAllItsInstances) {
  Topology topology;
  EXPECT_EQ(topology.last_level_cache_bytes(), 32 << 20) << "unknown";
  topology.caches = {{1, "data", 48 << 10, 4}, {3, "unified", 32 << 20, 2}, {2, "unified", 1 << 20, 4}};
  EXPECT_EQ(topology.last_level_cache_bytes(), 64 << 20);
  topology.caches.push_back({3, "unified", 8 << 20, 1});
  EXPECT_EQ(topology.last_level_cache_bytes(), 72 << 20) << "of unequal size";
}

const std::vector<int> kTwo{0, 1};

/// /proc/stat of two CPUs, in ticks.
std::string stat_of(int work0, int work1, int stolen, int idle) {
  const auto line = [&](const std::string& name, int work) {
    return name + " " + std::to_string(work) + " 0 0 " + std::to_string(idle) + " 0 0 0 " +
           std::to_string(stolen) + " 0 0\n";
  };
  return line("cpu ", work0 + work1) + line("cpu0", work0) + line("cpu1", work1) + "intr 5\n";
}

std::string pressure_of(long total) {
  return "some avg10=99.00 avg60=5.00 avg300=0.61 total=" + std::to_string(total) +
         "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
}

CpuLoad load_of(const std::string& before, const std::string& after, long waited_us = -1) {
  FileTree proc;
  proc.file("stat", before);
  if (waited_us >= 0) proc.file("pressure/cpu", pressure_of(1000));
  return measure_cpu_load(
      kTwo,
      [&] {
        proc.file("stat", after);
        if (waited_us >= 0) proc.file("pressure/cpu", pressure_of(1000 + waited_us));
        return 0.1;
      },
      proc.root());
}

TEST(CpuTicks, AreAddedOverTheCpusAskedFor) {
  const std::string text =
      "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 10 0 0 0 0 0 0 0\n"
      "cpu10 100 0 0 50 0 0 0 0\n";
  const std::vector<int> one{0}, both{0, 10}, unknown{2};
  EXPECT_EQ(cpu_ticks(text, one)->total, 36U);
  EXPECT_EQ(cpu_ticks(text, one)->idle, 9U) << "waiting for a disk leaves the CPU free";
  EXPECT_EQ(cpu_ticks(text, one)->stolen, 8U);
  EXPECT_EQ(cpu_ticks(text, both)->total, 186U);
  EXPECT_FALSE(cpu_ticks(text, unknown));
  EXPECT_FALSE(cpu_ticks("cpu  1 2\ncpu0 1 2 3\n", one));
  EXPECT_FALSE(cpu_ticks("", one));
}

TEST(Pressure, IsTheTotalOfTheFirstLine) {
  EXPECT_EQ(pressure_us(pressure_of(94559822)), 94559822U);
  EXPECT_FALSE(pressure_us("full avg10=0.00 total=7\n"));
  EXPECT_FALSE(pressure_us(""));
}

TEST(CpuLoad, IsWhatChangedBetweenTwoReadings) {
  const CpuLoad load = load_of(stat_of(1000, 5000, 0, 10000), stat_of(1010, 5005, 0, 10005), 40000);
  EXPECT_EQ(load.cpus, 2);
  EXPECT_NEAR(load.busy, 2 * 15.0 / 25, 1e-9);
  EXPECT_EQ(load.stolen, 0);
  EXPECT_NEAR(load.waited, 0.4, 1e-9);
}

TEST(CpuLoad, IsUnknownWhereTheKernelSaysNothing) {
  FileTree empty;
  const CpuLoad load = measure_cpu_load(
      kTwo, [] { return 0.1; }, empty.root());
  EXPECT_EQ(load.cpus, 0);
  EXPECT_FALSE(load_warning(load, 2));
  EXPECT_FALSE(load_warning(load_of(stat_of(5, 5, 0, 5), stat_of(5, 5, 0, 5)), 2)) << "no tick went by";
}

TEST(CpuLoad, OfThisMachineIsWithinItsCpus) {
  const std::vector<int> cpu{0};
  const CpuLoad load = measure_cpu_load(cpu, [] { return 0.0; });
  EXPECT_GE(load.busy, 0);
  EXPECT_LE(load.busy, 1);
}

TEST(LoadWarning, ComesWhereTheThreadsDoNotFitBesideTheOthers) {
  const CpuLoad full = load_of(stat_of(0, 0, 0, 0), stat_of(10, 10, 0, 0), 90000);
  const auto warning = load_warning(full, 2);
  ASSERT_TRUE(warning);
  EXPECT_EQ(sentence(warning->note),
            "busy: 2.0 of 2 CPUs were at work for other programs before measuring, and tasks waited "
            "for one 90 % of the time");
  EXPECT_THAT(warning->advice, Not(HasSubstr("--threads"))) << "there is no room for one either";
  EXPECT_THAT(sentence(load_warning(full, 1, "while")->note),
              HasSubstr("for other programs while measuring"));

  const CpuLoad half = load_of(stat_of(0, 0, 0, 0), stat_of(10, 0, 0, 5));
  ASSERT_TRUE(load_warning(half, 2));
  EXPECT_THAT(load_warning(half, 2)->advice, HasSubstr("or measure with --threads 1"));
  EXPECT_FALSE(load_warning(half, 1));
  EXPECT_TRUE(load_warning(half, 64)) << "more threads than CPUs want them all";
}

TEST(LoadWarning, ComesWhereWhatIsMeasuredHasToShareTheLastCpu) {
  // Three programs: two thirds of a CPU each.
  const CpuLoad shared{.cpus = 2, .busy = 1.33, .own = 0.67};
  ASSERT_TRUE(load_warning(shared, 1, "while"));
  EXPECT_FALSE(load_warning({.cpus = 2, .busy = 0.1, .own = 1.9}, 1, "while")) << "it takes them itself";
  EXPECT_FALSE(load_warning({.cpus = 4, .busy = 2, .own = 1}, 1, "while")) << "one is free";
}

TEST(LoadWarning, DoesNotComeForWhatAQuietMachineDoes) {
  EXPECT_FALSE(load_warning(load_of(stat_of(0, 0, 0, 0), stat_of(1, 1, 0, 9)), 2));
}

TEST(LoadWarning, NamesTheHypervisor) {
  const auto warning = load_warning(load_of(stat_of(0, 0, 0, 0), stat_of(0, 0, 5, 5)), 2);
  ASSERT_TRUE(warning);
  EXPECT_THAT(sentence(warning->note), HasSubstr("busy: 1.0 of 2 CPUs"));
  EXPECT_THAT(sentence(warning->note), HasSubstr("1.0 of them taken by the hypervisor"));
}

}  // namespace
}  // namespace headroom
