// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/cpu_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file_tree.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

/// Two sockets of two cores with two threads: threads of a core are n and n + 4, a socket has CPUs 0, 1,
/// 4, 5.
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

}  // namespace
}  // namespace headroom
