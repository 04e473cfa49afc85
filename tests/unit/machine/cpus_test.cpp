// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "../file_tree.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/machine/memory.h"
#include "headroom/machine/noise.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

using namespace testing;

TEST(CpuFolder, CpuLists) {
  EXPECT_THAT(parse_cpu_list("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(parse_cpu_list("5"), ElementsAre(5));
  for (const char* bad : {"", "\n", "a", "3-1", "0-", "-1", "1,,2", "0-99999999999", "1 2"}) {
    EXPECT_THAT(parse_cpu_list(bad), IsEmpty()) << bad;
  }
}

TEST(CpuFolder, CacheSizes) {
  EXPECT_EQ(parse_cache_size("307200K"), 307200LL << 10);
  EXPECT_EQ(parse_cache_size("32M"), 32LL << 20);
  EXPECT_EQ(parse_cache_size("1G"), 1LL << 30);
  EXPECT_EQ(parse_cache_size("512"), 512);
  for (const char* bad : {"", "K", "-4K", "many", "4KB"}) EXPECT_EQ(parse_cache_size(bad), 0) << bad;
}

void add_cache(FileTree& tree, int cpu, int index, const std::string& level, const std::string& type,
               const std::string& size, const std::string& shared) {
  const std::string path = "cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
  tree.file(path + "level", level + "\n").file(path + "type", type + "\n");
  tree.file(path + "size", size + "\n").file(path + "shared_cpu_list", shared + "\n");
}

/// Two sockets, each two cores of two threads: core n has n and n + 4, the first socket 0, 1, 4, 5.
class TwoSockets : public testing::Test {
 protected:
  TwoSockets() {
    tree_.file("online", "0-7\n");
    for (int cpu = 0; cpu < 8; ++cpu) {
      const std::string core = std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4);
      tree_.file("cpu" + std::to_string(cpu) + "/topology/core_cpus_list", core + "\n");
      add_cache(tree_, cpu, 0, "1", "Data", "48K", core);
      add_cache(tree_, cpu, 1, "1", "Instruction", "32K", core);
      add_cache(tree_, cpu, 2, "2", "Unified", "2048K", core);
      add_cache(tree_, cpu, 3, "3", "Unified", "32M", cpu % 4 < 2 ? "0-1,4-5" : "2-3,6-7");
    }
  }
  FileTree tree_;
};

TEST_F(TwoSockets, CountsEachCoreAndEachLastLevelCacheOnce) {
  const CpuFolder folder(tree_.root());
  EXPECT_EQ(folder.online_cpus().size(), 8U);
  EXPECT_EQ(folder.cores(folder.online_cpus()), 4);
  EXPECT_EQ(folder.last_level_cache_bytes(folder.online_cpus()), 64LL << 20);
  EXPECT_THAT(folder.cache_bytes(0), ElementsAre(48 << 10, 2 << 20, 32 << 20));
}

TEST_F(TwoSockets, ACoreHasTheNumberOfItsFirstThread) {
  const CpuFolder folder(tree_.root());
  EXPECT_EQ(folder.core_of(1), 1);
  EXPECT_EQ(folder.core_of(5), 1);
  EXPECT_EQ(CpuFolder("/no/such/folder").core_of(5), 5);
}

TEST_F(TwoSockets, OnlyThoseOfTheCpusAskedFor) {
  const CpuFolder folder(tree_.root());
  EXPECT_EQ(folder.cores(std::vector<int>{0, 4, 1}), 2);
  EXPECT_EQ(folder.last_level_cache_bytes(std::vector<int>{0, 4, 1}), 32LL << 20);
  EXPECT_EQ(folder.last_level_cache_bytes(std::vector<int>{5, 7}), 64LL << 20);
}

TEST_F(TwoSockets, OlderKernelsSpellTheSiblingsOtherwise) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    const auto topology = tree_.root() / ("cpu" + std::to_string(cpu)) / "topology";
    std::filesystem::rename(topology / "core_cpus_list", topology / "thread_siblings_list");
  }
  const CpuFolder folder(tree_.root());
  EXPECT_EQ(folder.cores(folder.online_cpus()), 4);
}

TEST(CpuFolder, WithoutFilesEveryCpuIsACoreAndNoCacheIsKnown) {
  const FileTree tree;
  const CpuFolder folder(tree.root());
  EXPECT_THAT(folder.online_cpus(), IsEmpty());
  EXPECT_EQ(folder.cores(std::vector<int>{0, 1}), 2);
  EXPECT_THAT(folder.cache_bytes(0), IsEmpty());
  EXPECT_EQ(folder.last_level_cache_bytes(std::vector<int>{0, 1}), 0);
}

TEST(CpuFolder, WithoutAThirdLevelTheSecondIsTheLast) {
  FileTree tree;
  add_cache(tree, 0, 0, "1", "Data", "64K", "0");
  add_cache(tree, 0, 1, "2", "Unified", "1M", "0");
  add_cache(tree, 1, 0, "1", "Data", "64K", "1");
  add_cache(tree, 1, 1, "2", "Unified", "2M", "1");
  EXPECT_EQ(CpuFolder(tree.root()).last_level_cache_bytes(std::vector<int>{0, 1}), 3 << 20);
}

std::vector<std::string> paths(const std::string& self_cgroup, const std::string& mountinfo) {
  std::vector<std::string> result;
  for (const CgroupFolder& folder : cgroup_memory_folders(self_cgroup, mountinfo)) {
    result.push_back("v" + std::to_string(folder.version) + " " + folder.path.string());
  }
  return result;
}

constexpr const char* kV2 =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kV1 =
    "25 30 0:22 / /proc rw - proc proc rw\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";

TEST(Cgroup, Version2HasEveryLevelUpToTheMount) {
  EXPECT_THAT(paths("0::/user.slice/user-1000.slice/job\n", kV2),
              ElementsAre("v2 /sys/fs/cgroup/user.slice/user-1000.slice/job",
                          "v2 /sys/fs/cgroup/user.slice/user-1000.slice", "v2 /sys/fs/cgroup/user.slice",
                          "v2 /sys/fs/cgroup"));
  EXPECT_THAT(paths("0::/\n", kV2), ElementsAre("v2 /sys/fs/cgroup"));
}

TEST(Cgroup, Version1TakesTheMemoryHierarchyOnly) {
  EXPECT_THAT(paths("9:name=systemd:/x\n4:memory:/slurm/job_7\n1:cpu,cpuacct:/y\n0::/z\n", kV1),
              ElementsAre("v1 /sys/fs/cgroup/memory/slurm/job_7", "v1 /sys/fs/cgroup/memory/slurm",
                          "v1 /sys/fs/cgroup/memory"));
}

TEST(Cgroup, BothVersionsTogether) {
  EXPECT_THAT(paths("4:hugetlb,memory:/a\n0::/b\n", std::string(kV1) + kV2),
              ElementsAre("v1 /sys/fs/cgroup/memory/a", "v1 /sys/fs/cgroup/memory", "v2 /sys/fs/cgroup/b",
                          "v2 /sys/fs/cgroup"));
}

TEST(Cgroup, AMountThatShowsOnlyTheContainersGroup) {
  const std::string mount = "35 31 0:32 /docker/4f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
  EXPECT_THAT(paths("4:memory:/docker/4f\n", mount), ElementsAre("v1 /sys/fs/cgroup/memory"));
  EXPECT_THAT(paths("4:memory:/docker/4f/inner\n", mount),
              ElementsAre("v1 /sys/fs/cgroup/memory/inner", "v1 /sys/fs/cgroup/memory"));
  EXPECT_THAT(paths("4:memory:/elsewhere\n", mount), ElementsAre("v1 /sys/fs/cgroup/memory"));
  EXPECT_THAT(paths("0::/../../other\n", kV2), ElementsAre("v2 /sys/fs/cgroup"));
}

TEST(Cgroup, EscapedPathsAndBrokenLines) {
  EXPECT_THAT(paths("0::/a b\n", "31 23 0:28 / /sys/fs/my\\040cgroup rw - cgroup2 cgroup2 rw\n"),
              ElementsAre("v2 /sys/fs/my cgroup/a b", "v2 /sys/fs/my cgroup"));
  EXPECT_THAT(paths("", kV2), IsEmpty());
  EXPECT_THAT(paths("0::/\n", ""), IsEmpty());
  EXPECT_THAT(paths("garbage\n::\n", "1 2 3\n- - -\n"), IsEmpty());
}

TEST(Cgroup, WhatOneGroupLeaves) {
  EXPECT_EQ(cgroup_memory_left({"1000\n", "", "400\n", ""}), 600);
  EXPECT_EQ(cgroup_memory_left({"1000\n", "max\n", "400\n", "anon 300\ninactive_file 90\n"}), 690);
  EXPECT_EQ(cgroup_memory_left({"max\n", "700\n", "400\n", ""}), 300) << "throttled beyond high";
  EXPECT_EQ(cgroup_memory_left({"1000\n", "", "400\n", "inactive_file 10\ntotal_inactive_file 90\n"}), 690)
      << "v1";
  EXPECT_EQ(cgroup_memory_left({"1000\n", "", "1200\n", ""}), 0);
  EXPECT_EQ(cgroup_memory_left({"1000\n", "", "100\n", "inactive_file 500\n"}), 1000);
  EXPECT_EQ(cgroup_memory_left({"max\n", "max\n", "400\n", ""}), std::nullopt);
  EXPECT_EQ(cgroup_memory_left({"", "", "", ""}), std::nullopt);
}

TEST(Cgroup, TheTightestLevelDecides) {
  FileTree tree;
  tree.file("proc/self/cgroup", "0::/outer/inner\n").file("proc/self/mountinfo", kV2);
  EXPECT_EQ(cgroup_memory_left(tree.root()), std::nullopt) << "no files, no limit";
  tree.file("sys/fs/cgroup/outer/inner/memory.max", "9000\n")
      .file("sys/fs/cgroup/outer/inner/memory.current", "100\n");
  EXPECT_EQ(cgroup_memory_left(tree.root()), 8900);
  tree.file("sys/fs/cgroup/outer/memory.max", "5000\n").file("sys/fs/cgroup/outer/memory.current", "1000\n");
  tree.file("sys/fs/cgroup/outer/memory.stat", "inactive_file 200\n");
  EXPECT_EQ(cgroup_memory_left(tree.root()), 4200);
}

TEST(Cgroup, Version1Files) {
  FileTree tree;
  tree.file("proc/self/cgroup", "4:memory:/job\n").file("proc/self/mountinfo", kV1);
  tree.file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000\n");
  tree.file("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "500\n");
  tree.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  tree.file("sys/fs/cgroup/memory/memory.usage_in_bytes", "800\n");
  EXPECT_EQ(cgroup_memory_left(tree.root()), 2500);
}

TEST(Cgroup, TimeHeldUpByAQuota) {
  FileTree tree;
  tree.file("proc/self/cgroup", "0::/outer/inner\n").file("proc/self/mountinfo", kV2);
  EXPECT_EQ(cgroup_throttled_s(tree.root()), std::nullopt);
  tree.file("sys/fs/cgroup/outer/inner/cpu.stat", "usage_usec 9\nnr_throttled 2\nthrottled_usec 1500000\n")
      .file("sys/fs/cgroup/outer/cpu.stat", "throttled_usec 250000\n");
  EXPECT_EQ(cgroup_throttled_s(tree.root()), 1.75) << "a group above holds up, too";

  FileTree old;
  old.file("proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job\n").file("proc/self/mountinfo", kV1);
  old.file("sys/fs/cgroup/cpu,cpuacct/job/cpu.stat",
           "nr_periods 7\nnr_throttled 2\nthrottled_time 500000000\n");
  EXPECT_EQ(cgroup_throttled_s(old.root()), 0.5);
}

TEST(Noise, StealIsTheEighthField) {
  EXPECT_EQ(steal_ticks("cpu  11567 0 1756 216061 1665 0 59 12 0 0\ncpu0 1 2 3\n"), 12U);
  EXPECT_EQ(steal_ticks("cpu  1 2 3 4 5 6 7 18446744073709551615 9 10\n"), 18446744073709551615U);
  EXPECT_EQ(steal_ticks("cpu  1 2 3 4 5 6 7 8"), 8U) << "cut after the field";
}

TEST(Noise, OtherTextsHaveNoSteal) {
  EXPECT_EQ(steal_ticks("cpu  1 2 3 4\ncpu0 5 6 7 8 9\n"), std::nullopt)
      << "a kernel before steal was counted";
  EXPECT_EQ(steal_ticks("cpu0 1 2 3 4 5 6 7 8\n"), std::nullopt);
  EXPECT_EQ(steal_ticks("cpu  1 2 x 4 5 6 7 8\n"), std::nullopt);
  EXPECT_EQ(steal_ticks(""), std::nullopt);
}

TEST(Noise, PageFaultsOfEveryThreadAreCounted) {
  constexpr std::size_t kPages = 200;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* mapped = ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::madvise(mapped, kPages * page, MADV_NOHUGEPAGE);
  NoiseMeter meter;
  meter.start();
  std::thread([&] {
    for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(mapped)[i * page] = 1;
  }).join();
  const SampleNoise busy = meter.stop();
  EXPECT_GE(busy.page_faults, kPages);
  meter.start();
  const SampleNoise quiet = meter.stop();
  EXPECT_LT(quiet.page_faults, kPages / 2);
  EXPECT_GE(quiet.steal_ms, 0);
  EXPECT_GE(quiet.frequency_mhz, 0);
  ::munmap(mapped, kPages * page);
}

TEST(Noise, ThreadsThatShareACpuPreemptEachOther) {
  NoiseMeter meter;
  meter.start();
  const int cpu = allowed_cpus().front();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(120);
  const auto spin = [&] {
    pin_this_thread(cpu);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  std::thread first(spin), second(spin);
  first.join();
  second.join();
  EXPECT_GE(meter.stop().involuntary_switches, 2U);
}

TEST(Noise, AMeterOpensItsFilesOnceAndClosesThem) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  {
    NoiseMeter meter;
    const auto with_meter = open_files();
    EXPECT_GT(with_meter, before);
    for (int i = 0; i < 10; ++i) meter.stop();
    EXPECT_EQ(open_files(), with_meter);
  }
  EXPECT_EQ(open_files(), before);
}

TEST(Noise, TheGovernorIsOneWordOrNothing) {
  EXPECT_EQ(cpu_governor().find_first_of(" \n"), std::string::npos);
  const bool offered = std::filesystem::exists(
      "/sys/devices/system/cpu/cpu" + std::to_string(allowed_cpus().front()) + "/cpufreq/scaling_governor");
  EXPECT_EQ(cpu_governor().empty(), !offered);
}

}  // namespace
}  // namespace headroom
