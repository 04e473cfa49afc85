// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

TEST(Series, AnEmptyOneHasNoEstimate) {
  EXPECT_FALSE(estimate({}));
  EXPECT_FALSE(ratio_of({}, {}));
  const auto one = estimate({{5}, {0}, {1}});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->median, 5);
  EXPECT_FALSE(one->interval) << "one value tells no interval";
}

TEST(Series, ThePositiveHaveAPositiveIntervalAndTheirInversesItsInverse) {
  Series times, rates;
  for (int i = 0; i < 25; ++i) {
    times.values.push_back(std::exp(3 * std::sin(0.7 * i * i)));
    rates.values.push_back(1 / times.values.back());
  }
  times.group_sizes = rates.group_sizes = {9, 8, 8};
  const auto time = estimate(times), rate = estimate(rates);
  ASSERT_TRUE(time && time->interval && rate && rate->interval);
  EXPECT_LT(series_median_interval(times.values, times.group_sizes)->low, 0) << "by the values themselves";
  EXPECT_GT(time->interval->low, 0);
  EXPECT_NEAR(time->interval->low * rate->interval->high, 1, 1e-9);
  EXPECT_NEAR(time->interval->high * rate->interval->low, 1, 1e-9);
}

TEST(Series, WhatIsZeroAtLeastHasNoIntervalBelowZero) {
  Series series;
  for (int i = 0; i < 24; ++i) series.values.push_back(i % 3 == 0 ? 0 : std::exp(3 * std::sin(0.7 * i)));
  const auto found = estimate(series);
  ASSERT_TRUE(found && found->interval);
  EXPECT_GE(found->interval->low, 0);
}

TEST(Series, RatiosPairTheRoundsThatBothHave) {
  const Series a{{20, 40, 60, 80}, {0, 2, 3, 7}, {2, 2}};
  const Series b{{10, 99, 10, 99, 20}, {0, 1, 2, 5, 7}, {5}};
  const auto ratio = ratio_of(a, b);
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->pairs, 3U) << "rounds 0, 2 and 7";
  EXPECT_NEAR(ratio->ratio, 4, 1e-12) << "the median of 2, 4, 4";
  EXPECT_FALSE(ratio_of({{1}, {0}, {1}}, {{1}, {1}, {1}})) << "no round in common";
}

TEST(Series, APairedRatioSurvivesADriftThatBothSee) {
  Series a, b;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const double drift = 100 * std::exp(0.05 * i);
    a.values.push_back(1.03 * drift * (1 + 1e-4 * (i * 7 % 5)));
    b.values.push_back(drift);
    a.rounds.push_back(i);
    b.rounds.push_back(i);
  }
  a.group_sizes = b.group_sizes = {40};
  const auto ratio = ratio_of(a, b);
  ASSERT_TRUE(ratio && ratio->interval);
  EXPECT_NEAR(ratio->ratio, 1.03, 1e-3);
  EXPECT_GT(ratio->interval->low, 1.02);
}

}  // namespace
}  // namespace headroom
