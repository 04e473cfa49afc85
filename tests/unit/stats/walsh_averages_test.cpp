// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/walsh_averages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "noise.h"

namespace headroom {
namespace {

using Values = std::vector<double>;

Values all_averages(const Values& sorted) {
  Values averages;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = i; j < sorted.size(); ++j) averages.push_back(0.5 * (sorted[i] + sorted[j]));
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

TEST(WalshAverage, IsTheOneAtThatRankOfAll) {
  test::Noise noise(5);
  for (const std::size_t count : {1, 2, 7, 40}) {
    for (const bool ties : {false, true}) {
      Values sorted = noise.series(count);
      if (ties)
        std::transform(sorted.begin(), sorted.end(), sorted.begin(), [](double z) { return int(2 * z); });
      std::sort(sorted.begin(), sorted.end());
      const Values all = all_averages(sorted);
      ASSERT_EQ(walsh_count(count), static_cast<double>(all.size()));
      for (std::size_t rank = 1; rank <= all.size(); ++rank)
        EXPECT_NEAR(walsh_average(sorted, static_cast<double>(rank)), all[rank - 1], 1e-12);
    }
  }
}

TEST(WalshAverage, BetweenRanksIsLinearAndBeyondThemTheLast) {
  const Values sorted{1, 3};  // averages 1, 2, 3
  EXPECT_DOUBLE_EQ(walsh_average(sorted, 1.5), 1.5);
  EXPECT_DOUBLE_EQ(walsh_average(sorted, 2.25), 2.25);
  EXPECT_DOUBLE_EQ(walsh_average(sorted, -4), 1);
  EXPECT_DOUBLE_EQ(walsh_average(sorted, 9), 3);
}

TEST(WalshAverage, OfTenThousandValuesIsSelectedNotListed) {
  Values sorted(10'000);
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<double>(i);
  EXPECT_NEAR(walsh_average(sorted, 0.5 * (walsh_count(sorted.size()) + 1)), 4999.5, 0.51);
}

}  // namespace
}  // namespace headroom
