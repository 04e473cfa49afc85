// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/changepoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "noise.h"

namespace headroom {
namespace {

using Values = std::vector<double>;

template <typename Series>
double share_with_changes(int repetitions, Series series) {
  int count = 0;
  for (int i = 0; i < repetitions; ++i) count += !change_points(series(i)).empty();
  return static_cast<double>(count) / repetitions;
}

TEST(ChangePoints, StatisticByHand) {
  // Ranks 1..3 before, 4..6 after: R = 6, expected 10.5, deviation sqrt(3 * 3 * 7 / 12).
  const auto shift = largest_rank_shift(Values{10, 20, 30, 40, 50, 60});
  ASSERT_TRUE(shift);
  EXPECT_EQ(shift->index, 3u);
  EXPECT_NEAR(shift->z, 4.5 / std::sqrt(5.25), 1e-12);
}

TEST(ChangePoints, TooFewValuesTellNothing) {
  EXPECT_FALSE(largest_rank_shift(Values{1, 2, 3, 4, 5}));
  EXPECT_FALSE(change_critical(13, ChangeLevel::kSuspected));
  EXPECT_TRUE(change_points({}).empty());
  EXPECT_TRUE(change_points(Values{1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9}).empty());
  EXPECT_FALSE(suspected_change({}, {}));
}

TEST(ChangePoints, CriticalValuesGrowWithTheCount) {
  double last_certain = 0;
  for (const std::size_t count : {14, 20, 33, 50, 75, 100, 200, 700, 3000, 10000, 50000, 1000000}) {
    const double certain = change_critical(count, ChangeLevel::kCertain).value();
    EXPECT_GT(certain, last_certain) << count;
    EXPECT_GT(certain, change_critical(count, ChangeLevel::kSuspected).value()) << count;
    last_certain = certain;
  }
  // An independent simulation of the same statistic gave 3.77 and 4.01.
  EXPECT_NEAR(change_critical(50, ChangeLevel::kCertain).value(), 3.77, 0.05);
  EXPECT_NEAR(change_critical(200, ChangeLevel::kCertain).value(), 4.05, 0.07);
}

TEST(ChangePoints, CriticalValuesAreTheQuantilesTheySay) {
  test::Noise noise(3);
  constexpr int kSeries = 4000;
  int beyond = 0;
  for (int i = 0; i < kSeries; ++i) {
    beyond += largest_rank_shift(noise.series(45))->z > change_critical(45, ChangeLevel::kSuspected).value();
  }
  // 1 % of 4,000 is 40 with a deviation of 6.3.
  EXPECT_GT(beyond, 20);
  EXPECT_LT(beyond, 62);
}

TEST(ChangePoints, SteadySeriesHaveNone) {
  test::Noise noise(1);
  for (const std::size_t count : {20, 60, 150}) {
    EXPECT_LE(share_with_changes(700, [&](int) { return noise.series(count); }), 0.01) << count;
    EXPECT_LE(share_with_changes(700,
                                 [&](int) {
                                   Values values = noise.series(count);
                                   for (double& value : values) value = std::exp(2 * value);
                                   return values;
                                 }),
              0.01)
        << count;
  }
}

TEST(ChangePoints, SpikesAtTheEndAreNoChange) {
  test::Noise noise(2);
  EXPECT_LE(share_with_changes(700,
                               [&](int i) {
                                 Values values = noise.series(50);
                                 values.back() = 1000;
                                 if (i % 2 == 1) values[values.size() - 2] = 1000;
                                 return values;
                               }),
            0.01);
}

TEST(ChangePoints, CorrelatedSeriesHaveFew) {
  test::Noise noise(5);
  // Without the correction it is 17 % of the long ones; of the short ones the correlation is not always seen.
  EXPECT_LE(share_with_changes(500, [&](int) { return noise.series(60, 0.5); }), 0.10);
  EXPECT_LE(share_with_changes(300, [&](int) { return noise.series(200, 0.5); }), 0.02);
}

TEST(ChangePoints, StepIsFoundWithinEightValues) {
  test::Noise noise(4);
  for (const std::size_t before : {20, 60, 150}) {
    int found = 0;
    constexpr int kSeries = 400;
    for (int i = 0; i < kSeries; ++i) {
      Values values = noise.series(before + 8);
      for (std::size_t k = before; k < values.size(); ++k) values[k] += 3;
      const auto changes = change_points(values);
      found += std::any_of(changes.begin(), changes.end(), [&](const ChangePoint& change) {
        return change.index + 4 >= before && change.index <= before + 4;
      });
    }
    EXPECT_GE(found, kSeries * 9 / 10) << before;
  }
}

TEST(ChangePoints, SeveralChangesComeInOrderAtTheirPlaces) {
  test::Noise noise(6);
  Values values = noise.series(120);
  for (std::size_t i = 40; i < 80; ++i) values[i] += 6;
  for (std::size_t i = 80; i < 120; ++i) values[i] += 12;
  const auto changes = change_points(values);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_NEAR(static_cast<double>(changes[0].index), 40, 2);
  EXPECT_NEAR(static_cast<double>(changes[1].index), 80, 2);
  EXPECT_FALSE(suspected_change(values, changes));
}

TEST(ChangePoints, ThereAndBackIsTwoChanges) {
  test::Noise noise(7);
  Values values = noise.series(90);
  for (std::size_t i = 30; i < 60; ++i) values[i] += 8;
  EXPECT_EQ(change_points(values).size(), 2u);
}

TEST(ChangePoints, FewValuesAfterAStepAreSuspectedFirst) {
  test::Noise noise(8);
  Values values = noise.series(60);
  for (std::size_t i = 55; i < 60; ++i) values[i] += 10;
  values[54] = -1;  // not by chance the largest of those before
  EXPECT_TRUE(change_points(values).empty());
  const auto suspected = suspected_change(values, {});
  ASSERT_TRUE(suspected);
  EXPECT_EQ(suspected->index, 55u);
}

TEST(ChangePoints, ConstantAndCoarseSeries) {
  EXPECT_TRUE(change_points(Values(100, 5.0)).empty());
  Values two_levels(20, 5.0);
  two_levels.resize(40, 6.0);
  const auto changes = change_points(two_levels);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].index, 20u);
}

TEST(ChangePoints, ValuesMustBeFinite) {
  Values values(20, 1.0);
  values[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(change_points(values), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
