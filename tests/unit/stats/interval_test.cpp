// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/interval.h"

#include <gtest/gtest.h>

#include "headroom/stats/distribution.h"

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

TEST(SeriesQuantileInterval, OfTheMedianIsThatOfTheMedian) {
  const auto values = shuffled_one_to(40);
  EXPECT_EQ(series_quantile_interval(values, 0.5)->low, series_median_interval(values)->low);
  EXPECT_EQ(series_quantile_interval(values, 0.5)->high, series_median_interval(values)->high);
}

/// How often the interval of a quantile holds the truth, of those that there are: AR(1) series of several
/// processes.
double coverage_of_quantile(double p, double rho, std::size_t processes, std::size_t count) {
  std::mt19937_64 engine(7);
  const auto uniform = [&] { return (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53; };
  const auto normal = [&] { return normal_quantile(uniform()); };
  const double truth = normal_quantile(p);
  int given = 0, covered = 0;
  for (int repetition = 0; repetition < 200; ++repetition) {
    std::vector<double> values;
    std::vector<std::size_t> sizes(processes, count / processes);
    for (const std::size_t size : sizes) {
      double z = normal();
      for (std::size_t i = 0; i < size; ++i) {
        values.push_back(z);
        z = rho * z + std::sqrt(1 - rho * rho) * normal();
      }
    }
    const auto interval = series_quantile_interval(values, p, sizes);
    if (!interval) continue;
    ++given;
    covered += interval->contains(truth) ? 1 : 0;
  }
  return given == 0 ? 0 : static_cast<double>(covered) / given;
}

// Independent order statistics cover .34 to .80 of these.
TEST(SeriesQuantileInterval, CoversUnderCorrelation) {
  for (const std::size_t processes : {1U, 3U}) {
    for (const double p : {0.25, 0.5, 0.75, 0.9}) {
      EXPECT_GE(coverage_of_quantile(p, 0.5, processes, 300), 0.91) << p << " of " << processes;
      EXPECT_GE(coverage_of_quantile(p, 0.9, processes, 900), 0.91) << p << " of " << processes;
    }
  }
}

TEST(SeriesQuantileInterval, IsRefusedWhereTheValuesSayTooLittle) {
  EXPECT_FALSE(series_quantile_interval(shuffled_one_to(60), 0.95));
  EXPECT_TRUE(series_quantile_interval(shuffled_one_to(200), 0.95));
  EXPECT_FALSE(series_quantile_interval(shuffled_one_to(11), 0.6, {}, 0.5))
      << "correlation cannot be told of 11";
  EXPECT_THROW(series_quantile_interval(shuffled_one_to(60), 1), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
