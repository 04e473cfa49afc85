// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;

TEST(Series, WarmUpIsLeftOutByProcess) {
  std::vector<Reading> readings;
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (std::uint32_t i = 0; i < 20; ++i) {
      const double warm = epoch == 1 && i < 3 ? 50 : 0;
      readings.push_back({epoch * 20 + i, epoch, 100 + warm + (i % 2), {}});
    }
  }
  EXPECT_THAT(warmup_by_process(readings), ElementsAre(0, 3));
  const Series series = steady_series(readings);
  EXPECT_THAT(series.group_sizes, ElementsAre(20, 17));
  EXPECT_EQ(series.values.size(), 37U);
  EXPECT_EQ(series.rounds.at(20), 23U);
}

}  // namespace
}  // namespace headroom
