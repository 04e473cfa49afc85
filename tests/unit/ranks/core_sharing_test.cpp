// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/core_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::StartsWith;

RankHello rank(int number, const std::string& host, std::vector<int> cores) {
  RankHello hello;
  hello.rank = number;
  hello.host = host;
  hello.cores = std::move(cores);
  return hello;
}

TEST(CoreSharing, RanksWithACoreEachShareNone) {
  EXPECT_EQ(core_sharing({rank(0, "a", {0}), rank(1, "a", {1})}, 1, 64), "");
  EXPECT_EQ(core_sharing({rank(0, "a", {0}), rank(1, "b", {0})}, 1, 64), "") << "of two machines";
  EXPECT_EQ(core_sharing({rank(0, "", {}), rank(1, "", {})}, 1, 64), "")
      << "who does not say it is not suspected";
}

TEST(CoreSharing, ThoseThatDoAreNamed) {
  EXPECT_THAT(
      core_sharing({rank(0, "a", {0}), rank(1, "a", {1}), rank(2, "a", {0}), rank(3, "a", {1})}, 1, 64),
      StartsWith("ranks 0, 2 share core 0 and ranks 1, 3 share core 1: they wait"));
}

TEST(CoreSharing, WhereTheyKeepToNoneTheCpusAreCounted) {
  const std::vector<RankHello> ranks{rank(0, "a", {}), rank(1, "a", {}), rank(2, "b", {})};
  EXPECT_THAT(core_sharing(ranks, 2, 3), StartsWith("2 ranks of 2 threads share 3 CPUs: they wait"));
  EXPECT_EQ(core_sharing(ranks, 1, 2), "");
}

TEST(CoreSharing, OfSeveralMachinesTheNameIsSaid) {
  EXPECT_THAT(core_sharing({rank(0, "a", {0}), rank(1, "b", {0}), rank(2, "b", {0})}, 1, 64),
              StartsWith("ranks 1, 2 share core 0 of b: "));
}

}  // namespace
}  // namespace headroom
