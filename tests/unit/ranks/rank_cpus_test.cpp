// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "../machine/file_tree.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RankPlace place(int local_rank, int local_size) {
  RankPlace place;
  place.rank = place.local_rank = local_rank;
  place.size = local_size;
  place.local_size = local_size;
  return place;
}

/// Four cores of two threads: those of core n are n and n + 4.
class FourCores : public testing::Test {
 protected:
  FourCores() {
    for (int cpu = 0; cpu < 8; ++cpu) {
      tree_.file("cpu" + std::to_string(cpu) + "/topology/core_cpus_list",
                 std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4) + "\n");
    }
  }
  std::vector<int> cpus(int local_rank, int local_size, int threads = 1) const {
    return cpus_of_rank(place(local_rank, local_size), all_, threads, CpuFolder(tree_.root()));
  }

  FileTree tree_;
  const std::vector<int> all_{0, 4, 1, 5, 2, 6, 3, 7};  // no order that would give cores by chance
};

TEST_F(FourCores, RanksDoNotShareACoreWhileCoresLast) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    std::set<int> taken;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<int> mine = cpus(rank, ranks, 8);
      EXPECT_FALSE(mine.empty());
      for (const int core : cores_of(mine, CpuFolder(tree_.root()))) {
        EXPECT_TRUE(taken.insert(core).second) << "core " << core << " of " << ranks << " ranks";
      }
    }
    EXPECT_EQ(taken.size(), 4U) << "no core is left out";
  }
}

TEST_F(FourCores, ARankHasAsManyAsItHasThreads) {
  EXPECT_THAT(cpus(1, 2, 1), ElementsAre(2));
  EXPECT_THAT(cpus(1, 2, 2), ElementsAre(2, 3));
  EXPECT_THAT(cpus(1, 2, 3), ElementsAre(2, 3)) << "the rest is another rank's";
}

TEST_F(FourCores, RanksBeyondTheCoresTakeTurns) {
  std::vector<int> taken;
  for (int rank = 0; rank < 9; ++rank) taken.push_back(cpus(rank, 9).front());
  EXPECT_THAT(taken, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0));
}

TEST_F(FourCores, WithoutTheNumberOfLocalRanksAllMayBeHere) {
  RankPlace somewhere = place(1, 2);
  somewhere.local_size.reset();
  EXPECT_THAT(cpus_of_rank(somewhere, all_, 1, CpuFolder(tree_.root())), ElementsAre(2));
}

TEST(RankCpus, WhatALauncherBoundARankToIsKept) {
  EXPECT_THAT(cpus_of_rank(place(3, 4), std::vector<int>{6}, 1), ElementsAre(6));
  EXPECT_THAT(cpus_of_rank(place(0, 1), std::vector<int>{}, 1), IsEmpty());
}

TEST(RankCpus, AThreadIsKeptToItsOwn) {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  std::thread([&] {
    const std::vector<int> mine = keep_to_cpus_of_rank(place(1, 2), 1);
    EXPECT_EQ(allowed_cpus(), mine);
    EXPECT_EQ(mine.size(), 1U);
  }).join();
  EXPECT_EQ(allowed_cpus(), allowed);
}

}  // namespace
}  // namespace headroom
