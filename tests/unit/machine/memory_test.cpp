// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "../file_tree.h"
#include "headroom/base/files.h"
#include "headroom/machine/memory.h"
#include "headroom/machine/perf_event.h"

namespace headroom {
namespace {

constexpr const char* kMeminfo =
    "MemTotal:       24731708 kB\nMemFree:        23787744 kB\nMemAvailable:   24321648 kB\nHugePages_Total: "
    "      0\n";

TEST(Memory, MeminfoFields) {
  EXPECT_EQ(meminfo_bytes(kMeminfo, "MemTotal"), 24731708LL * 1024);
  EXPECT_EQ(meminfo_bytes(kMeminfo, "MemAvailable"), 24321648LL * 1024);
  EXPECT_EQ(meminfo_bytes(kMeminfo, "Mem"), std::nullopt);
  EXPECT_EQ(meminfo_bytes(kMeminfo, "HugePages_Total"), std::nullopt) << "a count, not a size";
  EXPECT_EQ(meminfo_bytes("MemTotal: lots kB\n", "MemTotal"), std::nullopt);
  EXPECT_EQ(meminfo_bytes("", "MemTotal"), std::nullopt);
}

TEST(Memory, TheCgroupMayLeaveLessThanTheMachine) {
  FileTree tree;
  tree.file("proc/meminfo", "MemFree: 70 kB\n");
  EXPECT_EQ(system_memory_left(tree.root()), 70 * 1024) << "no MemAvailable";
  tree.file("proc/meminfo", "MemFree: 70 kB\nMemAvailable: 100 kB\n");
  EXPECT_EQ(system_memory_left(tree.root()), 100 * 1024);
  tree.file("proc/self/cgroup", "0::/\n");
  tree.file("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.file("sys/fs/cgroup/memory.max", "50000\n").file("sys/fs/cgroup/memory.current", "20000\n");
  EXPECT_EQ(system_memory_left(tree.root()), 30000);
}

TEST(Memory, FittedMemoryCountsBlocks) {
  FileTree tree;
  tree.file("proc/meminfo", "MemTotal: 1000 kB\n");
  EXPECT_EQ(fitted_memory_bytes(tree.root()), 1000 * 1024);
  tree.file("sys/devices/system/memory/block_size_bytes", "8000000\n");
  EXPECT_EQ(fitted_memory_bytes(tree.root()), 1000 * 1024);
  for (const char* name : {"memory0", "memory1", "memory32", "power", "memory_x"}) {
    tree.file(std::string("sys/devices/system/memory/") + name + "/state", "online\n");
  }
  EXPECT_EQ(fitted_memory_bytes(tree.root()), 3LL * 0x8000000);
}

TEST(Memory, ThisMachine) {
  EXPECT_GT(available_memory_bytes(), 1 << 20);
  EXPECT_LE(available_memory_bytes(), total_memory_bytes());
  EXPECT_GE(fitted_memory_bytes("/"), total_memory_bytes());
}

TEST(Memory, WhatAnAddressSpaceLimitLeaves) {
  EXPECT_EQ(address_space_left(100 * 4096, "30 9 8 1 0 5 0\n", 4096), 70 * 4096);
  EXPECT_EQ(address_space_left(20 * 4096, "30 9 8 1 0 5 0\n", 4096), 0);
  EXPECT_GT(address_space_left(RLIM_INFINITY, "30 9 8 1 0 5 0\n", 4096), std::int64_t{1} << 60);
}

TEST(Memory, TheAddressSpaceLimitOfThisProcessCounts) {
  constexpr std::int64_t kLeft = 64 << 20;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::string statm = read_file_or_empty("/proc/self/statm");
  const auto mapped = (std::int64_t{1} << 62) - address_space_left(std::uint64_t{1} << 62, statm, page);
  rlimit limit{static_cast<rlim_t>(mapped + kLeft), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  const std::int64_t left = available_memory_bytes();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_GT(left, 0);
  EXPECT_LE(left, kLeft);
}

constexpr const char* kSmaps =
    "00400000-00500000 r-xp 00000000 08:01 12 /bin/program\n"
    "Size:               1024 kB\n"
    "AnonHugePages:         0 kB\n"
    "VmFlags: rd ex mr mw me\n"
    "7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \n"
    "Size:               8192 kB\n"
    "AnonHugePages:      4096 kB\n"
    "7f0000800000-7f0000a00000 rw-p 00000000 00:00 0 \n"
    "AnonHugePages:      2048 kB\n";
constexpr std::size_t kStart = 0x7f0000000000, kMebibyte = std::size_t{1} << 20;

TEST(HugePages, OfARangeAreThoseOfItsMappings) {
  EXPECT_EQ(huge_page_bytes_of_smaps(kSmaps, kStart, 8 * kMebibyte), 4 * kMebibyte);
  EXPECT_EQ(huge_page_bytes_of_smaps(kSmaps, kStart, 10 * kMebibyte), 6 * kMebibyte);
  EXPECT_EQ(huge_page_bytes_of_smaps(kSmaps, kStart, 4 * kMebibyte), 2 * kMebibyte)
      << "its share of a mapping";
  EXPECT_EQ(huge_page_bytes_of_smaps(kSmaps, 0x400000, kMebibyte), 0U);
  EXPECT_FALSE(huge_page_bytes_of_smaps(kSmaps, 0x1000, kMebibyte)) << "no mapping";
  for (const char* text : {"", "7f0000000000-", "7f0000000000-7f0000800000 rw-p\nAnonHugePages: x kB\n",
                           "7f0000000000-7f0000800000 rw-p\nAnonHugePages: 5\n", "\n\n:"})
    EXPECT_FALSE(huge_page_bytes_of_smaps(text, kStart, kMebibyte)) << text;
}

TEST(HugePages, BothWaysOfTheKernelSayTheSame) {
  constexpr std::size_t kBytes = 16 * kMebibyte;
  for (const int advice : {MADV_HUGEPAGE, MADV_NOHUGEPAGE}) {
    void* const mapping =
        ::mmap(nullptr, kBytes + kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapping, MAP_FAILED);
    const auto start =
        (reinterpret_cast<std::uintptr_t>(mapping) + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    auto* const data = reinterpret_cast<char*>(start);
    ::madvise(data, kBytes, advice);
    std::memset(data, 1, kBytes);
    const auto huge = huge_page_bytes(data, kBytes);
    ASSERT_TRUE(huge);
    EXPECT_EQ(huge_page_bytes_of_smaps(read_file_or_empty("/proc/self/smaps"), start, kBytes), huge);
    if (advice == MADV_NOHUGEPAGE) {
      EXPECT_EQ(*huge, 0U);
    }
    ::munmap(mapping, kBytes + kHugePageBytes);
  }
}

TEST(HugePages, AreGivenToWhomTheKernelSays) {
  FileTree tree;
  EXPECT_EQ(huge_page_policy(tree.root()), "");
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(huge_page_policy(tree.root()), "madvise");
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  EXPECT_EQ(huge_page_policy(tree.root()), "never");
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "]always[\n");
  EXPECT_EQ(huge_page_policy(tree.root()), "");
}

using Traffic = ControllerEvent::Traffic;

TEST(MemoryControllers, AreThoseOfIntelsServers) {
  FileTree tree;
  for (const char* unit : {"uncore_imc_1", "uncore_imc_0"}) {
    const std::string folder = unit;
    tree.file(folder + "/type", "22\n").file(folder + "/cpumask", "0,28\n");
    tree.file(folder + "/format/event", "config:0-7\n").file(folder + "/format/umask", "config:8-15\n");
    tree.file(folder + "/events/cas_count_read", "event=0x04,umask=0x03\n");
    tree.file(folder + "/events/cas_count_read.scale", "6.103515625e-5\n");
    tree.file(folder + "/events/cas_count_read.unit", "MiB\n");
    tree.file(folder + "/events/cas_count_write", "event=0x04,umask=0x0c\n");
    tree.file(folder + "/events/cas_count_write.scale", "6.103515625e-5\n");
    tree.file(folder + "/events/cas_count_write.unit", "MiB\n");
  }
  tree.file("uncore_imc_2/type", "23").file("uncore_imc_free_running_0/type", "24").file("cpu/type", "4");
  const auto events = memory_controllers(tree.root());
  ASSERT_EQ(events.size(), 8U) << "two units, two directions, two packages";
  EXPECT_EQ(events[0].unit, "uncore_imc_0");
  EXPECT_EQ(events[0].type, 22U);
  EXPECT_EQ(events[0].config[0], 0x0304U);
  EXPECT_EQ(events[1].cpu, 28);
  EXPECT_EQ(events[0].bytes_per_count, 64);
  EXPECT_EQ(events[0].traffic, Traffic::kRead);
  EXPECT_EQ(events[2].traffic, Traffic::kWrite);
  EXPECT_EQ(events[2].config[0], 0x0c04U);
}

TEST(MemoryControllers, AreThoseOfAmd) {
  FileTree tree;
  tree.file("amd_df/type", "9").file("amd_df/cpumask", "0");
  tree.file("amd_df/format/event", "config:0-7,32-35").file("amd_df/format/umask", "config:8-15");
  auto events = memory_controllers(tree.root());
  ASSERT_EQ(events.size(), 8U);
  EXPECT_EQ(events[0].config[0], 0x3807U);
  EXPECT_EQ(events[7].config[0], 0x1000038c7U) << "the ninth bit of an event lies in bit 32";
  EXPECT_EQ(events[0].traffic, Traffic::kBoth);

  tree.file("amd_df/format/umask", "config:8-15,24-27");
  EXPECT_TRUE(memory_controllers(tree.root()).empty()) << "since Zen 4 the numbers mean other events";

  tree.file("amd_umc_3/type", "12").file("amd_umc_3/cpumask", "4");
  tree.file("amd_umc_3/format/event", "config:0-7").file("amd_umc_3/format/rdwrmask", "config:8-9");
  events = memory_controllers(tree.root());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].config[0], 0x10aU);
  EXPECT_EQ(events[1].config[0], 0x20aU);
  EXPECT_EQ(events[1].cpu, 4);
}

TEST(MemoryControllers, OfWhichTheKernelSaysNonsenseAreNone) {
  EXPECT_TRUE(memory_controllers("/nowhere").empty());
  FileTree tree;
  tree.file("format/event", "config:0-7").file("format/far", "config:60-70").file("format/odd", "bits 3");
  const auto encoded = [&](const std::string& terms) {
    std::array<std::uint64_t, 3> config{};
    return encode_event(terms, tree.root() / "format", config);
  };
  EXPECT_TRUE(encoded("event=0xff"));
  EXPECT_TRUE(encoded("event"));
  for (const char* terms :
       {"event=0x100", "event=", "event=x", "missing=1", "../type=1", "far=1", "odd=1", ""})
    EXPECT_FALSE(encoded(terms)) << terms;
}

}  // namespace
}  // namespace headroom
