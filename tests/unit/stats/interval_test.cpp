// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

std::vector<double> shuffled_one_to(int count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1);
  std::shuffle(values.begin(), values.end(), std::mt19937(7));
  return values;
}

TEST(RelativeHalfWidth, IsHalfTheWidthOverTheEstimate) {
  EXPECT_DOUBLE_EQ(relative_half_width({9, 11, 0.95}, 10), 0.1);
  EXPECT_DOUBLE_EQ(relative_half_width({-11, -9, 0.95}, -10), 0.1);
  EXPECT_DOUBLE_EQ(relative_half_width({0, 0, 0.95}, 0), 0);
  EXPECT_TRUE(std::isinf(relative_half_width({-1, 1, 0.95}, 0)));
}

TEST(MedianInterval, NeedsSixValuesAt95Percent) {
  EXPECT_FALSE(median_interval(std::vector<double>{}));
  EXPECT_FALSE(median_interval(shuffled_one_to(5)));
  const auto interval = median_interval(shuffled_one_to(6));
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->high, 6);
  EXPECT_EQ(interval->confidence, 0.95);
}

TEST(MedianInterval, TakesTheRanksOfTheTable) {
  const auto interval = median_interval(shuffled_one_to(20));
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 6);
  EXPECT_EQ(interval->high, 15);
  // At 99 %: P(B <= 3) = 0.0013, P(B <= 4) = 0.0059 > 0.005.
  const auto wider = median_interval(shuffled_one_to(20), 0.99);
  ASSERT_TRUE(wider);
  EXPECT_EQ(wider->low, 4);
  EXPECT_EQ(wider->high, 17);
}

TEST(QuantileInterval, OfTheNinetiethPercentile) {
  // B(100, .9): P(B <= 83) = .0206, P(B <= 84) = .0399; P(B <= 94) = .9424, P(B <= 95) = .9763.
  const auto interval = quantile_interval(shuffled_one_to(100), 0.9);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 84);
  EXPECT_EQ(interval->high, 96);
}

TEST(QuantileInterval, RefusesAPercentileThatTheSampleDoesNotReach) {
  EXPECT_FALSE(quantile_interval(shuffled_one_to(100), 0.99));
  EXPECT_TRUE(quantile_interval(shuffled_one_to(400), 0.99));
  EXPECT_FALSE(quantile_interval(shuffled_one_to(100), 1));
  EXPECT_FALSE(quantile_interval(shuffled_one_to(100), 0));
}

TEST(QuantileInterval, RefusesNonsense) {
  EXPECT_THROW(quantile_interval(shuffled_one_to(10), 1.5), std::invalid_argument);
  EXPECT_THROW(quantile_interval(shuffled_one_to(10), 0.5, 1), std::invalid_argument);
  EXPECT_THROW(quantile_interval(shuffled_one_to(10), 0.5, 0), std::invalid_argument);
  EXPECT_THROW(median_interval(std::vector<double>{1, 2, 3, 4, 5, 6, NAN}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
