// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file_tree.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace headroom
