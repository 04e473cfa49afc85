// SPDX-License-Identifier: Apache-2.0
// A bound of 91 % allows for few repetitions (1.6 % at 1,000), with fixed seeds; full tables:
// bench/coverage.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"
#include "noise.h"

namespace headroom {
namespace {

using test::Noise;

using Values = std::vector<double>;

// numpy.quantile([3, 1, 4, 1, 5], p): sorted 1 1 3 4 5, position 4 p.
TEST(Quantile, InterpolatesAsNumpyDoes) {
  const Values values = {3, 1, 4, 1, 5};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.4), 2.2);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 4.6);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 5);
}

TEST(Quantile, OfOneValueIsThatValue) {
  EXPECT_DOUBLE_EQ(quantile(Values{7}, 0), 7);
  EXPECT_DOUBLE_EQ(quantile(Values{7}, 0.3), 7);
  EXPECT_DOUBLE_EQ(quantile(Values{7}, 1), 7);
}

TEST(Quantile, RefusesWhatHasNone) {
  EXPECT_THROW(quantile(Values{}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1, NAN}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1, INFINITY}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, -0.1), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, 1.1), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, NAN), std::invalid_argument);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(median(Values{9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median(Values{9, 1, 5, 6}), 5.5);
}

TEST(MedianAbsoluteDeviation, IgnoresOneSpike) {
  // Deviations from 3: 2 1 0 1 997.
  EXPECT_DOUBLE_EQ(median_absolute_deviation(Values{1, 2, 3, 4, 1000}), 1);
}

TEST(Mean, OfHugeValuesDoesNotOverflow) {
  const double huge = std::numeric_limits<double>::max();
  EXPECT_DOUBLE_EQ(mean(Values{huge, huge}), huge);
  EXPECT_DOUBLE_EQ(mean(Values{1, 2, 6}), 3);
  EXPECT_THROW(mean(Values{}), std::invalid_argument);
}

TEST(StandardDeviation, DividesByOneLessThanTheCount) {
  // Squares about 5: 9 1 1 1 0 0 4 16 = 32, over 7.
  EXPECT_DOUBLE_EQ(standard_deviation(Values{2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(standard_deviation(Values{3}), 0);
}

void expect_interval(const std::optional<Interval>& interval, double low, double high) {
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, low);
  EXPECT_EQ(interval->high, high);
}

void expect_interval(const Interval& interval, double low, double high, double within) {
  EXPECT_NEAR(interval.low, low, within);
  EXPECT_NEAR(interval.high, high, within);
}

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

TEST(NormalQuantile, MatchesTheTable) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-9);
  EXPECT_NEAR(normal_quantile(0.995), 2.575829303548901, 1e-9);
  EXPECT_NEAR(normal_quantile(0.025), -1.959963984540054, 1e-9);
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_THROW(normal_quantile(0), std::invalid_argument);
  EXPECT_THROW(normal_quantile(1), std::invalid_argument);
}

TEST(StudentTQuantile, MatchesTheTable) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706205, 1e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.302653, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.182446, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.776445, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.995, 9), 3.249836, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.05, 10), -1.812461, 1e-6);
  EXPECT_THROW(student_t_quantile(0.975, 0), std::invalid_argument);
}

void expect(std::size_t n, std::size_t low, std::size_t high, double p = 0.5, double tail = 0.025) {
  const RankPair ranks = binomial_ranks(n, p, tail);
  EXPECT_EQ(ranks.low, low) << n;
  EXPECT_EQ(ranks.high, high) << n;
}

// Conover, table for the median; 2 P(B < low) is the probability to miss.
TEST(BinomialRanks, OfTheMedianMatchTheTable) {
  expect(6, 1, 6);
  expect(8, 1, 8);
  expect(9, 2, 8);
  expect(10, 2, 9);
  expect(20, 6, 15);
  expect(25, 8, 18);
  expect(50, 18, 33);
  expect(100, 40, 61);
}

TEST(BinomialRanks, SayWhereTheSampleDoesNotReach) {
  expect(5, 0, 6);
  // 0.99^n <= 0.025 from n = 368 on.
  EXPECT_EQ(binomial_ranks(367, 0.99, 0.025).high, 368u);
  EXPECT_EQ(binomial_ranks(368, 0.99, 0.025).high, 368u);
}

TEST(BinomialRanks, MissAsOftenAsAllowed) {
  // Both of two values lie on the same side of the median in one of four pairs.
  expect(2, 1, 2, 0.5, 0.25);
}

TEST(BinomialRanks, OfManyValuesDoNotUnderflow) {
  expect(10'000, 4902, 5099);  // 5000 -+ 1.96 * 50
}

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
  expect_interval(median_interval(shuffled_one_to(20)), 6, 15);
  // At 99 %: P(B <= 3) = 0.0013, P(B <= 4) = 0.0059 > 0.005.
  expect_interval(median_interval(shuffled_one_to(20), 0.99), 4, 17);
}

TEST(QuantileInterval, OfTheNinetiethPercentile) {
  // B(100, .9): P(B <= 83) = .0206, P(B <= 84) = .0399; P(B <= 94) = .9424, P(B <= 95) = .9763.
  expect_interval(quantile_interval(shuffled_one_to(100), 0.9), 84, 96);
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
  const Interval interval = series_median_interval(values).value();
  expect_interval(series_quantile_interval(values, 0.5), interval.low, interval.high);
}

/// AR(1) series of several processes.
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

TEST(SeriesQuantileInterval, ReachesBeyondProcessesThatDiffer) {
  Noise noise(9);
  Values values;
  for (const double level : {0, 10, 20}) {
    for (const double z : noise.series(100)) values.push_back(level + z);
  }
  const std::vector<std::size_t> sizes(3, 100);
  for (const double p : {0.25, 0.75, 0.9}) {
    const auto interval = series_quantile_interval(values, p, sizes);
    ASSERT_TRUE(interval);
    EXPECT_LT(interval->low, normal_quantile(p) - 3) << p;
    EXPECT_GT(interval->high, 20 + normal_quantile(p) + 3) << p;
  }
}

TEST(SeriesQuantileInterval, IsRefusedWhereTheValuesSayTooLittle) {
  EXPECT_FALSE(series_quantile_interval(shuffled_one_to(60), 0.95));
  EXPECT_TRUE(series_quantile_interval(shuffled_one_to(200), 0.95));
  EXPECT_FALSE(series_quantile_interval(shuffled_one_to(11), 0.6, {}, 0.5))
      << "correlation cannot be told of 11";
  EXPECT_THROW(series_quantile_interval(shuffled_one_to(60), 1), std::invalid_argument);
}

using Sizes = std::vector<std::size_t>;

constexpr double kBound = 0.91;

struct Coverage {
  double share = 0;  ///< coverage of the given intervals
  double given = 0;
  double width = 0;  ///< mean, relative to the plain sign interval
};

Coverage simulate(int repetitions, double truth, const Sizes& sizes, const std::function<Values()>& draw) {
  int given = 0;
  int covered = 0;
  double width = 0;
  double plain = 0;
  for (int i = 0; i < repetitions; ++i) {
    const Values values = draw();
    const auto interval = series_median_interval(values, sizes);
    if (!interval) continue;
    ++given;
    covered += interval->contains(truth) ? 1 : 0;
    width += interval->high - interval->low;
    const auto unaware = median_interval(values);
    plain += unaware->high - unaware->low;
  }
  return {static_cast<double>(covered) / std::max(1, given), static_cast<double>(given) / repetitions,
          width / plain};
}

TEST(SeriesLocation, GivesTheIntervalsOfTheFunctions) {
  Noise noise(12);
  const Values values = noise.series(60, 0.4);
  for (const Sizes& sizes : {Sizes{}, Sizes{20, 25, 15}, Sizes(6, 10)}) {
    const SeriesLocation series(values, sizes);
    EXPECT_DOUBLE_EQ(series.value(), median(values));
    for (const double confidence : {0.8, 0.95, 0.999}) {
      const auto whole = series_median_interval(values, sizes, confidence);
      ASSERT_TRUE(whole && series.interval(confidence));
      EXPECT_EQ(series.interval(confidence)->low, whole->low);
      EXPECT_EQ(series.interval(confidence)->high, whole->high);
      EXPECT_EQ(series.sampling_interval(confidence)->low, sampling_interval(values, sizes, confidence)->low);
    }
  }
  EXPECT_THROW(SeriesLocation(Values{}), std::invalid_argument);
}

TEST(SeriesLocation, OfVeryManyValuesKeepsEveryOneThatAnIntervalEndsAt) {
  Noise noise(17);
  const Values values = noise.series(120'000, 0.3);
  const std::vector<std::size_t> sizes{20'000, 100'000};
  SeriesLocation location(values, sizes);
  EXPECT_EQ(location.count(), values.size());
  EXPECT_EQ(location.value(), median(values));
  const auto rank_below = [&](double value) {
    return std::ranges::count_if(values, [value](double other) { return other < value; });
  };
  const double n = static_cast<double>(values.size());
  long last = 0;
  for (const double rho : {0.0, 0.9, 1.0}) {
    location.expect_correlation(rho);
    const Interval interval = *location.sampling_interval(1 - 1e-15);
    const long low = rank_below(interval.low), high = rank_below(interval.high);
    EXPECT_NEAR(static_cast<double>(low + high), n, 3) << "around the middle";
    EXPECT_GT(high - low, last) << "as far as the correlation needs, not as far as values are kept";
    last = high - low;
  }
  EXPECT_LT(static_cast<double>(last), 0.5 * n);
}

TEST(SeriesLocation, WidensForACorrelationLearnedElsewhereAndNeverNarrows) {
  Noise noise(13);
  SeriesLocation series(noise.series(60, 0.2));
  const Interval before = *series.interval(0.95);
  series.expect_correlation(-0.5);
  EXPECT_EQ(series.interval(0.95)->low, before.low);
  series.expect_correlation(0.6);
  const Interval after = *series.interval(0.95);
  EXPECT_LT(after.low, before.low);
  EXPECT_GT(after.high, before.high);
}

TEST(SeriesMedianInterval, NeedsSixValuesAt95Percent) {
  EXPECT_FALSE(series_median_interval(Values{}));
  EXPECT_FALSE(series_median_interval(Values{1, 3, 2, 5, 4}));
  const auto interval = series_median_interval(Values{1, 6, 3, 4, 2, 5});
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 0.5, 0.5) << "beyond the range by what six values cannot tell of correlation";
  EXPECT_NEAR(interval->high, 6.5, 0.5);
}

TEST(SeriesMedianInterval, OfDriftIsNothing) {
  Values rising(20);
  std::iota(rising.begin(), rising.end(), 1);
  EXPECT_FALSE(series_median_interval(rising));
}

TEST(SeriesMedianInterval, OfEqualValuesIsThatValue) {
  expect_interval(series_median_interval(Values(10, 4.0)), 4, 4);
}

TEST(SeriesMedianInterval, HoldsTheMedianAndMayReachBeyondTheValues) {
  Noise noise(11);
  bool beyond = false;
  for (int i = 0; i < 200; ++i) {
    Values values = noise.series(25, 0.8);
    for (double& value : values) value = std::exp(value);
    const auto interval = series_median_interval(values);
    if (!interval) continue;
    EXPECT_TRUE(interval->contains(median(values)));
    beyond = beyond || interval->high > *std::max_element(values.begin(), values.end());
  }
  EXPECT_TRUE(beyond) << "the range of values that resemble their neighbours is too narrow";
}

TEST(SeriesMedianInterval, OfIndependentValuesIsHardlyWiderThanTheSignInterval) {
  Noise noise(12);
  for (const std::size_t count : {24, 30, 60}) {
    const Coverage coverage = simulate(1000, 0, {}, [&] { return noise.series(count); });
    EXPECT_EQ(coverage.given, 1) << count;
    EXPECT_GE(coverage.share, 0.935) << count;
    EXPECT_LE(coverage.width, 1.12) << count;
  }
}

TEST(SeriesMedianInterval, CoversUnderSkewAndSpikes) {
  Noise noise(13);
  const Coverage skewed = simulate(1000, 1, {}, [&] {
    Values values = noise.series(30, 0.3);
    for (double& value : values) value = std::exp(value);
    return values;
  });
  EXPECT_GE(skewed.share, kBound);
  // Median with 5 % far above: the 0.5/0.95 quantile of the rest, 0.0660 for normal noise.
  const Coverage spiky = simulate(1000, 0.0660, {}, [&] {
    Values values = noise.series(30, 0.3);
    for (double& value : values) value += noise.uniform() < 0.05 ? 200 : 0;
    return values;
  });
  EXPECT_GE(spiky.share, kBound);
}

TEST(SeriesMedianInterval, CoversUnderAutocorrelationWhereTheSignIntervalDoesNot) {
  Noise noise(14);
  for (const double rho : {0.5, 0.7}) {
    int plain = 0;
    const Coverage coverage = simulate(800, 0, {}, [&] {
      Values values = noise.series(50, rho);
      plain += median_interval(values)->contains(0) ? 1 : 0;
      return values;
    });
    EXPECT_GE(coverage.share, kBound) << rho;
    EXPECT_LT(plain / 800.0, 0.85) << rho;
  }
}

TEST(SeriesMedianInterval, CoversFromSixValuesOnWithNeighboursCorrelatedByHalf) {
  Noise noise(23);
  for (const double rho : {0.0, 0.5}) {
    for (const std::size_t count : {6, 8, 10, 12}) {
      const Coverage coverage = simulate(1500, 0, {}, [&] { return noise.series(count, rho); });
      EXPECT_GE(coverage.share, kBound) << count << " " << rho;
      EXPECT_GE(coverage.given, 0.8) << count << " " << rho;
    }
  }
}

TEST(SeriesMedianInterval, CoversFromTwentyValuesOnWithNeighboursCorrelatedByNineTenths) {
  Noise noise(24);
  for (const std::size_t count : {20, 30, 50, 200}) {
    const Coverage coverage = simulate(1000, 0, {}, [&] { return noise.series(count, 0.9); });
    EXPECT_GE(coverage.share, kBound) << count;
    EXPECT_GE(coverage.given, 0.85) << count;
  }
}

TEST(SeriesMedianInterval, CoversWhereProcessesDiffer) {
  Noise noise(15);
  for (const std::size_t processes : {2, 3, 5, 7}) {
    const Sizes sizes(processes, 15);
    const Coverage coverage = simulate(600, 0, sizes, [&] {
      Values values;
      for (std::size_t process = 0; process < processes; ++process) {
        const double offset = noise.normal();
        for (const double z : noise.series(15)) values.push_back(offset + z);
      }
      return values;
    });
    EXPECT_GE(coverage.share, kBound) << processes;
  }
}

TEST(SeriesMedianInterval, OfOneValueAProcessIsNotWidened) {
  Noise noise(16);
  const Values values = noise.series(40);
  const auto each = series_median_interval(values, Sizes(40, 1));
  const auto whole = series_median_interval(values);
  ASSERT_TRUE(each && whole);
  EXPECT_LE(each->high - each->low, 1.2 * (whole->high - whole->low));
}

TEST(SeriesMedianInterval, WidensWithConfidence) {
  Noise noise(17);
  const Values values = noise.series(60);
  const auto narrow = series_median_interval(values, {}, 0.8);
  const auto wide = series_median_interval(values, {}, 0.99);
  ASSERT_TRUE(narrow && wide);
  EXPECT_GT(narrow->low, wide->low);
  EXPECT_LT(narrow->high, wide->high);
}

TEST(SeriesMedianInterval, RefusesGroupsThatDoNotAddUp) {
  const Values values(10, 1.0);
  EXPECT_THROW(series_median_interval(values, Sizes{4, 5}), std::invalid_argument);
  EXPECT_NO_THROW(series_median_interval(values, Sizes{4, 0, 6}));
}

TEST(SamplingInterval, NarrowsWithSamplesWhereProcessesDiffer) {
  Noise noise(20);
  const auto width = [&](std::size_t each) {
    Values values;
    for (int process = 0; process < 3; ++process) {
      for (const double z : noise.series(each)) values.push_back(0.5 * process + z);
    }
    const Sizes sizes(3, each);
    const auto shown = series_median_interval(values, sizes);
    const auto sampling = sampling_interval(values, sizes);
    EXPECT_TRUE(shown && sampling);
    EXPECT_LE(shown->low, sampling->low);
    EXPECT_GE(shown->high, sampling->high);
    return std::pair(sampling->high - sampling->low, shown->high - shown->low);
  };
  const auto few = width(20);
  const auto many = width(2000);
  EXPECT_LT(many.first, few.first / 3);
  EXPECT_GT(many.second, 1);
}

TEST(SamplingInterval, OfOneProcessIsTheIntervalShown) {
  Noise noise(22);
  const Values values = noise.series(30, 0.4);
  EXPECT_EQ(sampling_interval(values)->low, series_median_interval(values)->low);
  EXPECT_EQ(sampling_interval(values)->high, series_median_interval(values)->high);
}

TEST(EffectiveSampleSize, CountsIndependentValues) {
  Noise noise(18);
  EXPECT_GT(effective_sample_size(noise.series(2000)), 1800);
  // 1 + 2 sum 2/pi asin(.5^k) = 2.31.
  EXPECT_NEAR(effective_sample_size(noise.series(2000, 0.5)), 2000 / 2.31, 130);
  EXPECT_EQ(effective_sample_size(Values{3}), 1);
  EXPECT_THROW(effective_sample_size(Values{}), std::invalid_argument);
}

TEST(EffectiveSampleSize, OfProcessesFarApartIsAboutTheirNumber) {
  Noise noise(19);
  Values values;
  for (int process = 0; process < 4; ++process) {
    for (const double z : noise.series(50)) values.push_back(100 * process + z);
  }
  const double size = effective_sample_size(values, Sizes(4, 50));
  EXPECT_GE(size, 1);
  EXPECT_LE(size, 8);
}

TEST(EffectiveSampleSize, IsDividedByTheVarianceRatioOfTheProcesses) {
  // Means 3.5 and 5.5 of 4.5: 8 between, (17 + 17)/6 within.
  EXPECT_NEAR(effective_sample_size(Values{1, 5, 2, 6, 3, 7, 4, 8}, Sizes{4, 4}), 8 / (8 / (34.0 / 6)), 1e-9);
  // Three, means 4.5, 6.5 and 8.5 of 6.5: 32/2 between, (37 + 37 + 37)/9 within.
  EXPECT_NEAR(effective_sample_size(Values{1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12}, Sizes{4, 4, 4}),
              12 / (16 / (111.0 / 9)), 1e-9);
  // Of 4, 5 and 3 values, means 4.5, 6.2 and 29/3 of 6.5.
  EXPECT_NEAR(effective_sample_size(Values{1, 7, 2, 8, 4, 10, 3, 9, 5, 6, 12, 11}, Sizes{4, 5, 3}),
              12 / ((16 + 0.45 + 361.0 / 12) / 2 / ((37 + 38.8 + 62.0 / 3) / 9)), 1e-9);
}

TEST(EffectiveSampleSize, OfProcessesThatDoNotDifferIsTheirValues) {
  // Equal means: nothing between.
  EXPECT_EQ(effective_sample_size(Values{1, 8, 4, 5, 2, 7, 3, 6}, Sizes{4, 4}), 8);
}

Values ones(std::size_t count, std::size_t of) {
  Values values(of);
  for (std::size_t i = 0; i < count; ++i) values[i * of / count] = 1;
  return values;
}

TEST(SeriesShare, HasWilsonsInterval) {
  // Newcombe 1998, table I: 15 of 148; 0 of 20.
  expect_interval(SeriesShare(ones(15, 148)).interval(0.95), 0.0624, 0.1605, 5e-5);
  EXPECT_EQ(SeriesShare(Values(20, 0.0)).interval(0.95).low, 0);
  EXPECT_NEAR(SeriesShare(Values(20, 0.0)).interval(0.95).high, 0.1611, 5e-5);
}

TEST(SeriesShare, IsWiderWhereNeighboursAreAlike) {
  Values runs;
  for (int i = 0; i < 100; ++i) runs.push_back(i / 10 % 2);
  const Interval mixed = SeriesShare(ones(50, 100)).interval(0.95), sticky = SeriesShare(runs).interval(0.95);
  EXPECT_GT(sticky.high - sticky.low, 1.8 * (mixed.high - mixed.low));
}

TEST(SeriesShare, CoversWhatProcessesSay) {
  Values values = ones(10, 50);
  const Values other = ones(40, 50);
  values.insert(values.end(), other.begin(), other.end());
  const std::vector<std::size_t> sizes{50, 50};
  EXPECT_EQ(SeriesShare(values, sizes).interval(0.95).low, 0);
  EXPECT_EQ(SeriesShare(values, sizes).interval(0.95).high, 1);
}

TEST(SeriesShare, CoversTheTruthOfAMarkovChain) {
  test::Noise noise(3);
  for (const double stay : {0.0, 0.5, 0.8}) {
    int covered = 0;
    for (int i = 0; i < 500; ++i) {
      Values values;
      bool is = noise.uniform() < 0.3;
      for (int j = 0; j < 100; ++j) {
        if (noise.uniform() >= stay) is = noise.uniform() < 0.3;
        values.push_back(is ? 1 : 0);
      }
      covered += SeriesShare(values).interval(0.95).contains(0.3) ? 1 : 0;
    }
    EXPECT_GE(covered, 460) << stay;
  }
}

TEST(ShareDifference, HasNewcombesInterval) {
  // Newcombe 1998, table II, method 10: 56 of 70 less 48 of 80. Negative correlation is chance.
  expect_interval(share_difference_interval(SeriesShare(ones(56, 70)), SeriesShare(ones(48, 80)), 0.95),
                  0.0524, 0.3339, 5e-5);
}

TEST(SeriesShare, RefusesWhatIsNone) {
  EXPECT_THROW(SeriesShare(Values{}), std::invalid_argument);
  EXPECT_THROW(SeriesShare(Values{0, 2}), std::invalid_argument);
  EXPECT_THROW(SeriesShare(Values{0, 1}, std::vector<std::size_t>{1}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
