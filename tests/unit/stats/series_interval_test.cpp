// SPDX-License-Identifier: Apache-2.0
// Coverage is simulated with fixed seeds and few repetitions: a bound of 91 % leaves room for their error
// (1.6 % at 1,000) and still fails any method that ignores what is tested. The full tables come from
// bench/coverage.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"
#include "noise.h"

namespace headroom {
namespace {

using test::Noise;
using Values = std::vector<double>;
using Sizes = std::vector<std::size_t>;

constexpr double kBound = 0.91;

struct Coverage {
  double share = 0;  ///< of the intervals given that held the truth
  double given = 0;
  double width = 0;  ///< mean, over that of the plain sign interval
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
  const auto interval = series_median_interval(Values(10, 4.0));
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 4);
  EXPECT_EQ(interval->high, 4);
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
  // The median of a mixture with 5 % far above: the 0.5/0.95 quantile of the rest, 0.0660 for normal noise.
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

}  // namespace
}  // namespace headroom
