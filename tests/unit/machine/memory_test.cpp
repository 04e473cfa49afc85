// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "file_tree.h"
#include "headroom/machine/text_file.h"

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
  const std::string statm = text_of_file("/proc/self/statm");
  const auto mapped = (std::int64_t{1} << 62) - address_space_left(std::uint64_t{1} << 62, statm, page);
  rlimit limit{static_cast<rlim_t>(mapped + kLeft), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  const std::int64_t left = available_memory_bytes();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_GT(left, 0);
  EXPECT_LE(left, kLeft);
}

}  // namespace
}  // namespace headroom
