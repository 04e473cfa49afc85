// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headroom/stats/autocorrelation.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/stopping.h"
#include "noise.h"

namespace headroom {
namespace {

using test::Noise;

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

using Values = std::vector<double>;
using Sizes = std::vector<std::size_t>;

/// Inflation of the median's variance for a long AR(1) series: 1 + 2 sum 2/pi asin(rho^k).
double exact_inflation(double rho) {
  double sum = 0;
  for (int lag = 1; lag < 400; ++lag) sum += 2 / std::numbers::pi * std::asin(std::pow(rho, lag));
  return 1 + 2 * sum;
}

TEST(MidRanks, ShareTheRanksOfTies) {
  const Values values = {30, 10, 20, 10, 10};
  Values ranks(5);
  mid_ranks(values, ranks);
  EXPECT_EQ(ranks, (Values{5, 2, 4, 2, 2}));
}

TEST(AutocorrelationInflation, OfALongAr1SeriesIsTheExactOne) {
  Noise noise(3);
  for (const double rho : {0.3, 0.5, 0.7, 0.9}) {
    const double inflation = autocorrelation_inflation(noise.series(20'000, rho));
    EXPECT_NEAR(inflation / exact_inflation(rho), 1, 0.12) << rho;
  }
}

TEST(Autocorrelation, KnowsTheCorrelationOfNeighbours) {
  Noise noise(8);
  for (const double rho : {-0.4, 0.0, 0.3, 0.8}) {
    const Values values = noise.series(20'000, rho);
    // Of ranks: 6/pi asin(rho/2) for normal values.
    const double expected = 6 / std::numbers::pi * std::asin(rho / 2);
    EXPECT_NEAR(autocorrelation(values).first_lag, expected, 0.03) << rho;
    const Sizes halves{10'000, 10'000};
    EXPECT_NEAR(autocorrelation(values, halves).first_lag, expected, 0.03) << rho;
    EXPECT_EQ(autocorrelation(values, halves).length, 10'000);
  }
  EXPECT_EQ(autocorrelation(Values{1, 2, 3}).first_lag, 0);
}

TEST(FirstLagInflation, IsThatOfAnAr1Series) {
  for (const double rho : {0.3, 0.5, 0.7}) {
    EXPECT_NEAR(first_lag_inflation(rho, 1e6) / exact_inflation(rho), 1, 0.001) << rho;
  }
  EXPECT_LT(first_lag_inflation(0.9, 10), exact_inflation(0.9)) << "a short series ends before it forgets";
  EXPECT_EQ(first_lag_inflation(-0.5, 100), 1);
}

TEST(AutocorrelationInflation, OfIndependentValuesIsNearlyOne) {
  Noise noise(4);
  EXPECT_LT(autocorrelation_inflation(noise.series(20'000)), 1.05);
  double sum = 0;
  for (int i = 0; i < 200; ++i) sum += autocorrelation_inflation(noise.series(30));
  EXPECT_LT(sum / 200, 1.35);
}

TEST(AutocorrelationInflation, OfAlternatingOrConstantValuesIsOne) {
  Values alternating;
  for (int i = 0; i < 40; ++i) alternating.push_back(i % 2);
  EXPECT_EQ(autocorrelation_inflation(alternating), 1);
  EXPECT_EQ(autocorrelation_inflation(Values(40, 5.0)), 1);
  EXPECT_EQ(autocorrelation_inflation(Values{1, 2, 3}), 1);
}

TEST(AutocorrelationInflation, DoesNotTakeDifferencesBetweenProcessesForCorrelation) {
  Noise noise(5);
  Values values;
  for (int process = 0; process < 4; ++process) {
    for (const double z : noise.series(50)) values.push_back(10 * process + z);
  }
  const std::vector<std::size_t> sizes(4, 50);
  EXPECT_LT(autocorrelation_inflation(values, sizes), 1.6);
  EXPECT_GT(autocorrelation_inflation(values), 20);
}

TEST(AutocorrelationInflation, SeesSlowDriftUnderNoise) {
  Noise noise(6);
  Values values = noise.series(200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 2 * std::sin(static_cast<double>(i) / 25);
  EXPECT_GT(autocorrelation_inflation(values), 10);
}

TEST(AutocorrelationInflation, RefusesWhatIsNotFinite) {
  EXPECT_THROW(autocorrelation_inflation(Values{1, 2, 3, NAN, 5}), std::invalid_argument);
}

Values ranks_of(Values values) {
  Values sorted = values;
  std::ranges::sort(sorted);
  replace_by_ranks(values, sorted);
  return values;
}

double counted_rank(const Values& values, double value) {
  const auto below = std::ranges::count_if(values, [value](double other) { return other < value; });
  const auto equal = std::ranges::count(values, value);
  return static_cast<double>(below) + 0.5 * static_cast<double>(equal + 1);
}

TEST(SortedRanks, TiesShareTheirMean) {
  EXPECT_EQ(ranks_of({30, 10, 20, 10, 10}), (Values{5, 2, 4, 2, 2}));
  EXPECT_EQ(ranks_of({7}), Values{1});
  EXPECT_EQ(ranks_of({}), Values{});
  EXPECT_EQ(ranks_of({0.0, -0.0}), (Values{1.5, 1.5}));
}

TEST(SortedRanks, OfManyAreThoseThatCountingGives) {
  test::Noise noise(5);
  for (const std::size_t count : {2047U, 2048U, 2049U, 3072U, 5000U}) {
    for (const double grain : {0.0, 0.01, 1.0}) {
      Values values = noise.series(count, 0);
      if (grain > 0)
        for (double& value : values) value = grain * std::round(value / grain);
      const Values ranks = ranks_of(values);
      for (std::size_t i = 0; i < count; i += 7)
        ASSERT_EQ(ranks[i], counted_rank(values, values[i])) << count;
      ASSERT_EQ(ranks.back(), counted_rank(values, values.back()));
      const auto largest = std::ranges::max_element(values) - values.begin();
      ASSERT_EQ(ranks[static_cast<std::size_t>(largest)],
                counted_rank(values, values[static_cast<std::size_t>(largest)]));
    }
  }
}

Values with_warmup(Noise& noise, std::size_t count, double time_constant, double sd) {
  Values values = noise.series(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = (1 + 0.2 * std::exp(-static_cast<double>(i) / time_constant)) * (1 + sd * values[i]);
  }
  return values;
}

TEST(WarmupLength, CountsTheValuesBeforeTheLevel) {
  const Values values = {9, 7, 6, 5.01, 5, 4.99, 5.01, 5, 5, 4.99, 5.01, 5, 5, 5.01};
  EXPECT_EQ(warmup_length(values), 3u);
}

TEST(WarmupLength, OfFewOrEqualValuesIsZero) {
  EXPECT_EQ(warmup_length(Values{}), 0u);
  EXPECT_EQ(warmup_length(Values{9, 8, 7, 6, 5, 4, 3}), 0u);
  EXPECT_EQ(warmup_length(Values(30, 5.0)), 0u);
  EXPECT_EQ(warmup_length(Values(30, 0.0)), 0u);
}

TEST(WarmupLength, OfOneSlowFirstValueIsZero) {
  Values values = {50};
  for (int i = 0; i < 30; ++i) values.push_back(5 + 0.01 * (i % 3));
  EXPECT_EQ(warmup_length(values), 0u);
}

TEST(WarmupLength, OfARisingSeriesIsZero) {
  Values values;
  for (int i = 0; i < 40; ++i) values.push_back(100 - 20 * std::exp(-i / 3.0) + 0.1 * (i % 3));
  EXPECT_EQ(warmup_length(values), 0u);
}

TEST(WarmupLength, FindsADecayOverTheFirstSamples) {
  Noise noise(31);
  for (const double time_constant : {2.0, 3.0, 5.0}) {
    int found = 0;
    for (int i = 0; i < 300; ++i) {
      const std::size_t length = warmup_length(with_warmup(noise, 30, time_constant, 0.01));
      found += length >= 2 && length <= 15 ? 1 : 0;
    }
    EXPECT_GE(found, 285) << time_constant;
  }
}

TEST(WarmupLength, SeldomSeesOneInSteadyNoise) {
  Noise noise(32);
  for (const std::size_t count : {10, 20, 50, 200}) {
    int normal = 0;
    int correlated = 0;
    int spiky = 0;
    for (int i = 0; i < 1000; ++i) {
      normal += warmup_length(noise.series(count)) > 0 ? 1 : 0;
      correlated += warmup_length(noise.series(count, 0.5)) > 0 ? 1 : 0;
      Values values = noise.series(count);
      for (double& value : values) value = (100 + value) * (noise.uniform() < 0.05 ? 3 : 1);
      spiky += warmup_length(values) > 0 ? 1 : 0;
    }
    // 1 % of 1,000, and two and a half standard errors.
    EXPECT_LE(normal, 5) << count;
    EXPECT_LE(correlated, 18) << count;
    EXPECT_LE(spiky, 18) << count;
  }
}

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
  Noise noise(41);
  constexpr int kRepetitions = 250;
  int covered = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    Stopping stopping({.precision = 0.01, .max_samples = 300});
    std::vector<double> values;
    std::optional<Interval> interval;
    std::optional<StopReason> reason;
    while (!reason) {
      values.push_back(1 + 0.025 * noise.normal());
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
  EXPECT_EQ(samples_needed(1, 0x1p32, 1), kMost);  // 2^64, the first number beyond
}

}  // namespace
}  // namespace headroom
