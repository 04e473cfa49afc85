// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/stopping.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/sample_size.h"

namespace headroom {
namespace {

StopRule rule() {
  return {.precision = 0.01, .min_samples = 30, .min_time_ns = 1e6, .max_time_ns = 1e9, .max_samples = 500};
}

TEST(ShouldStop, OnPrecisionFromTheMinimaOn) {
  EXPECT_EQ(should_stop(rule(), {30, 1e6, 0.01}), StopReason::kPrecision);
  EXPECT_EQ(should_stop(rule(), {30, 1e6, 0.0101}), std::nullopt);
  EXPECT_EQ(should_stop(rule(), {29, 1e6, 0.001}), std::nullopt);
  EXPECT_EQ(should_stop(rule(), {30, 9e5, 0.001}), std::nullopt);
  EXPECT_EQ(should_stop(rule(), {30, 1e6, std::nullopt}), std::nullopt);
}

TEST(ShouldStop, AtTheCaps) {
  EXPECT_EQ(should_stop(rule(), {500, 1e6, 0.5}), StopReason::kMaxSamples);
  EXPECT_EQ(should_stop(rule(), {40, 1e9, std::nullopt}), StopReason::kMaxTime);
  EXPECT_EQ(should_stop(rule(), {2, 2e9, 0.001}), StopReason::kMaxTime);
  EXPECT_EQ(should_stop(rule(), {500, 2e9, 0.005}), StopReason::kPrecision);
}

TEST(Stopping, ConfirmsTheGoalWithAQuarterMoreSamples) {
  Stopping stopping(rule());
  EXPECT_FALSE(stopping.check({39, 1e7, 0.012}));
  EXPECT_FALSE(stopping.check({40, 1e7, 0.009}));
  EXPECT_FALSE(stopping.check({45, 1e7, std::nullopt}));
  EXPECT_FALSE(stopping.check({49, 1e7, 0.009}));
  EXPECT_EQ(stopping.check({50, 1e7, 0.009}), StopReason::kPrecision);
}

TEST(Stopping, StartsAgainWhereTheGoalIsLost) {
  Stopping stopping(rule());
  EXPECT_FALSE(stopping.check({40, 1e7, 0.009}));
  EXPECT_FALSE(stopping.check({48, 1e7, 0.011}));
  EXPECT_FALSE(stopping.check({50, 1e7, 0.009}));
  EXPECT_FALSE(stopping.check({62, 1e7, 0.009}));
  EXPECT_EQ(stopping.check({63, 1e7, 0.009}), StopReason::kPrecision);
}

TEST(Stopping, EndsAtACapWithTheGoalUnconfirmed) {
  Stopping stopping(rule());
  EXPECT_FALSE(stopping.check({480, 1e7, 0.009}));
  EXPECT_EQ(stopping.check({500, 1e7, 0.009}), StopReason::kPrecision);
  Stopping timed(rule());
  EXPECT_EQ(timed.check({30, 1e9, 0.02}), StopReason::kMaxTime);
}

TEST(Stopping, LeavesAnIntervalThatCovers) {
  std::mt19937_64 engine(41);
  const auto uniform = [&] { return (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53; };
  constexpr int kRepetitions = 250;
  int covered = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    Stopping stopping({.precision = 0.01, .max_samples = 300});
    std::vector<double> values;
    std::optional<Interval> interval;
    std::optional<StopReason> reason;
    while (!reason) {
      values.push_back(1 + 0.025 * std::sqrt(-2 * std::log(uniform())) *
                               std::cos(2 * std::numbers::pi * uniform()));
      interval = series_median_interval(values);
      StopState state{values.size(), 0, std::nullopt};
      if (interval) state.relative_half_width = relative_half_width(*interval, median(values));
      reason = stopping.check(state);
    }
    covered += interval && interval->contains(1) ? 1 : 0;
  }
  // 93 % less two standard errors.
  EXPECT_GE(covered, 225);
}

TEST(SamplesNeeded, GrowsWithTheSquareOfThePrecision) {
  EXPECT_EQ(samples_needed(40, 0.02, 0.01), 120u);
  EXPECT_EQ(samples_needed(40, 0.01, 0.01), 0u);
  EXPECT_EQ(samples_needed(40, 0.005, 0.01), 0u);
  EXPECT_EQ(samples_needed(40, 0.0141421356, 0.01), 40u);
}

TEST(SamplesNeeded, IsUnboundedWhereThereIsNoAnswer) {
  constexpr auto kMost = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(samples_needed(40, std::numeric_limits<double>::infinity(), 0.01), kMost);
  EXPECT_EQ(samples_needed(40, std::nan(""), 0.01), kMost);
  EXPECT_EQ(samples_needed(40, 0.1, 0), kMost);
  EXPECT_EQ(samples_needed(40, 1e200, 1e-200), kMost);
}

}  // namespace
}  // namespace headroom
