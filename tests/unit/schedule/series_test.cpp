// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

#include "headroom/schedule/process_share.h"

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

Track track_of(std::initializer_list<double> ns) {
  Track track;
  for (const double one : ns) {
    track.readings.push_back({static_cast<std::uint32_t>(track.readings.size()), 0, one, {}});
  }
  return track;
}

TEST(Series, TheWidestIntervalOfTheCasesThatAreAlive) {
  const Track steady = track_of({10, 10.1, 10, 10.2, 10, 10.1, 10, 10.1});
  const Track noisy = track_of({10, 13, 11, 9, 12, 10, 14, 8});
  Track failed = track_of({10});
  failed.outcome.kind = Outcome::Kind::kFailed;
  const auto alone = worst_half_width(half_widths(std::vector{steady, failed}));
  const auto both = worst_half_width(half_widths(std::vector{steady, noisy}));
  ASSERT_TRUE(alone && both);
  EXPECT_LT(*alone, 0.02);
  EXPECT_GT(*both, 0.1);
  EXPECT_FALSE(worst_half_width(half_widths(std::vector{steady, track_of({10})})))
      << "one reading has no interval";
}

TEST(Series, TheRecentMedianForgetsTheFirstReadings) {
  Track track = track_of({1000, 1000, 1000});
  EXPECT_EQ(recent_median_ns(track.readings), 1000);
  for (std::uint32_t i = 3; i < 40; ++i) track.readings.push_back({i, 0, 7, {}});
  EXPECT_EQ(recent_median_ns(track.readings), 7);
  EXPECT_FALSE(recent_median_ns({}));
}

TEST(Series, ProcessesShareTheSamplesAndTheTime) {
  const StopRule rule{
      .precision = 0.01, .min_samples = 31, .min_time_ns = 8, .max_time_ns = 40, .max_samples = 2};
  const StopRule share = process_share(rule, 4);
  EXPECT_DOUBLE_EQ(share.precision, 0.02);
  EXPECT_EQ(share.min_samples, 8U);
  EXPECT_EQ(share.max_samples, 1U);
  EXPECT_EQ(share.min_time_ns, 2);
  EXPECT_EQ(share.max_time_ns, 10);
}

}  // namespace
}  // namespace headroom
