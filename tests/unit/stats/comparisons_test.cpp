// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "headroom/stats/compare.h"
#include "headroom/stats/quantile.h"
#include "noise.h"

namespace headroom {
namespace {

using test::Noise;
using namespace testing;

using Values = std::vector<double>;

TEST(PairedRatio, IsTheMedianOfTheRatios) {
  const RatioEstimate estimate = paired_ratio(Values{2, 6, 40}, Values{1, 2, 10});
  EXPECT_NEAR(estimate.ratio, 3, 1e-12);
  EXPECT_EQ(estimate.pairs, 3u);
  EXPECT_FALSE(estimate.interval);
}

TEST(PairedRatio, OfSixPairsSpansThemAndLittleMore) {
  const RatioEstimate estimate = paired_ratio(Values{1.01, 1.06, 1.03, 1.04, 1.02, 1.05}, Values(6, 1.0));
  EXPECT_NEAR(estimate.ratio, std::sqrt(1.03 * 1.04), 1e-12);
  ASSERT_TRUE(estimate.interval);
  EXPECT_NEAR(estimate.interval->low, 1.005, 0.005);
  EXPECT_NEAR(estimate.interval->high, 1.065, 0.005);
}

TEST(PairedRatio, CoversUnderDriftThatBothShare) {
  Noise noise(21);
  int covered = 0;
  int naive = 0;
  constexpr int kRepetitions = 800;
  for (int i = 0; i < kRepetitions; ++i) {
    Values a, b;
    double drift = 0;
    for (int round = 0; round < 30; ++round) {
      drift += 0.01 * noise.normal() + 0.01;
      a.push_back(std::exp(drift + 0.01 * noise.normal()) * 1.02);
      b.push_back(std::exp(drift + 0.01 * noise.normal()));
    }
    const auto paired = paired_ratio(a, b).interval;
    const auto unpaired = unpaired_ratio(a, b).interval;
    ASSERT_TRUE(paired && unpaired);
    covered += paired->contains(1.02) ? 1 : 0;
    naive += unpaired->high - unpaired->low > 3 * (paired->high - paired->low) ? 1 : 0;
  }
  EXPECT_GE(covered / double{kRepetitions}, 0.93);
  EXPECT_GE(naive / double{kRepetitions}, 0.95);
}

std::pair<Values, Values> pairs(Noise& noise, std::size_t count, bool one_sided) {
  Values a, b;
  for (std::size_t i = 0; i < count; ++i) {
    const double mode = one_sided && noise.uniform() < 0.3 ? 0.05 : 0;
    a.push_back(std::exp(0.01 * noise.normal() + mode));
    b.push_back(std::exp(0.01 * noise.normal()));
  }
  return {a, b};
}

double log_width(const std::optional<Interval>& interval) {
  return std::log(interval->high / interval->low);
}

TEST(PairedRatio, IsNarrowerThanByTheMedianAloneWhereTheNoiseIsNormal) {
  Noise noise(31);
  double pairs_width = 0, median_width = 0;
  for (int i = 0; i < 300; ++i) {
    const auto [a, b] = pairs(noise, 60, false);
    Values logs;
    for (std::size_t k = 0; k < a.size(); ++k) logs.push_back(std::log(a[k] / b[k]));
    const auto by_median = series_median_interval(logs);
    const auto interval = paired_ratio(a, b).interval;
    ASSERT_TRUE(interval && by_median);
    EXPECT_LE(log_width(interval), by_median->high - by_median->low + 1e-12);
    EXPECT_TRUE(interval->contains(paired_ratio(a, b).ratio));
    pairs_width += log_width(interval);
    median_width += by_median->high - by_median->low;
  }
  EXPECT_LT(pairs_width, 0.93 * median_width);
}

TEST(PairedRatio, CoversTheMedianWhereOnlyOneSideHasModes) {
  Noise noise(32);
  Values far;
  const auto [a, b] = pairs(noise, 200'001, true);
  for (std::size_t k = 0; k < a.size(); ++k) far.push_back(a[k] / b[k]);
  const double truth = median(far);
  for (const std::size_t count : {20, 50, 100}) {
    int covered = 0;
    for (int i = 0; i < 600; ++i) {
      const auto sides = pairs(noise, count, true);
      covered += paired_ratio(sides.first, sides.second).interval->contains(truth) ? 1 : 0;
    }
    EXPECT_GE(covered / 600.0, 0.91) << count;
  }
}

TEST(RatioSeries, IntervalsLieInOneAnotherAndWidenForCorrelation) {
  Noise noise(33);
  const auto [a, b] = pairs(noise, 40, false);
  RatioSeries series = RatioSeries::paired(a, b);
  double width = 0;
  for (const double confidence : {0.5, 0.8, 0.95, 0.999, 0.999999}) {
    const auto interval = series.at(confidence).interval;
    ASSERT_TRUE(interval);
    EXPECT_GT(log_width(interval), width);
    width = log_width(interval);
  }
  const auto before = series.at(0.95).interval;
  series.expect_correlation(0.8);
  EXPECT_GT(log_width(series.at(0.95).interval), log_width(before));
}

TEST(RatioSeries, UnpairedSidesAreAsCorrelatedAsTheyAreOnAverage) {
  Noise noise(34);
  std::vector<double> rising(60), level(60);
  std::iota(rising.begin(), rising.end(), 1.0);
  for (double& value : level) value = std::exp(0.01 * noise.normal());
  const double both = RatioSeries::unpaired(rising, {}, rising, {}).neighbour_correlation();
  const double one = RatioSeries::unpaired(rising, {}, level, {}).neighbour_correlation();
  EXPECT_GT(both, 0.8);
  EXPECT_NEAR(one, 0.5 * both, 0.15);
}

TEST(PairedRatio, RefusesWhatHasNoRatio) {
  EXPECT_THROW(paired_ratio(Values{1, 2}, Values{1}), std::invalid_argument);
  EXPECT_THROW(paired_ratio(Values{}, Values{}), std::invalid_argument);
  EXPECT_THROW(paired_ratio(Values{0}, Values{1}), std::invalid_argument);
  EXPECT_THROW(paired_ratio(Values{1}, Values{-1}), std::invalid_argument);
  EXPECT_THROW(paired_ratio(Values{1}, Values{NAN}), std::invalid_argument);
}

TEST(UnpairedRatio, CombinesTheTwoIntervals) {
  // At sqrt(.95) each, P(B(9, .5) <= 1) = .0195 > .0127: the whole range.
  const Values a = {18, 10, 11, 12, 14, 16, 17, 13, 15};
  const Values b = {7, 7, 7, 7, 7, 7, 7, 7, 7};
  const RatioEstimate estimate = unpaired_ratio(a, b);
  EXPECT_NEAR(estimate.ratio, 2, 1e-12);
  ASSERT_TRUE(estimate.interval);
  EXPECT_NEAR(estimate.interval->low, 10.0 / 7, 1e-12);
  EXPECT_NEAR(estimate.interval->high, 18.0 / 7, 1e-12);
  EXPECT_EQ(estimate.interval->confidence, 0.95);
}

TEST(UnpairedRatio, NeedsEnoughOfBoth) {
  EXPECT_FALSE(unpaired_ratio(Values(20, 1.0), Values(5, 2.0)).interval);
  EXPECT_NEAR(unpaired_ratio(Values(20, 1.0), Values(5, 2.0)).ratio, 0.5, 1e-12);
  EXPECT_EQ(unpaired_ratio(Values(20, 1.0), Values(5, 2.0)).pairs, 5u);
  EXPECT_THROW(unpaired_ratio(Values{}, Values{1}), std::invalid_argument);
}

TEST(WeightedProduct, PutsIntervalsTogether) {
  const RatioEstimate up{std::exp(0.2), Interval{std::exp(0.17), std::exp(0.24), 0.9}, 9};
  const RatioEstimate down{std::exp(0.1), Interval{std::exp(0.06), std::exp(0.13), 0.9}, 7};
  const RatioEstimate ratio = weighted_product(std::vector{up, down}, std::vector{1.0, -1.0});
  EXPECT_NEAR(std::log(ratio.ratio), 0.1, 1e-12);
  EXPECT_NEAR(std::log(ratio.interval->low), 0.1 - std::hypot(0.03, 0.03), 1e-12);
  EXPECT_NEAR(std::log(ratio.interval->high), 0.1 + std::hypot(0.04, 0.04), 1e-12);
  EXPECT_EQ(ratio.interval->confidence, 0.9);
  EXPECT_EQ(ratio.pairs, 7U);
  const RatioEstimate open{2, std::nullopt, 3};
  EXPECT_FALSE(weighted_product(std::vector{up, open}, std::vector{0.5, 0.5}).interval);
  EXPECT_THROW((void)weighted_product({}, {}), std::invalid_argument);
}

using Sizes = std::vector<std::size_t>;

Values times(Noise& noise, std::size_t count, double rho = 0) {
  Values values = noise.series(count, rho);
  for (double& value : values) value = 100 * std::exp(0.01 * value);
  return values;
}

int coverage(std::size_t count, double rho, std::size_t processes, double off) {
  Noise noise(7);
  int held = 0;
  for (int i = 0; i < 400; ++i) {
    Values sides[2];
    const Sizes sizes(processes, count / processes);
    for (Values& side : sides) {
      side = times(noise, count, rho);
      for (std::size_t p = 0; p < processes; ++p) {
        const double factor = std::exp(off * noise.normal());
        for (std::size_t k = 0; k < count / processes; ++k) side[p * (count / processes) + k] *= factor;
      }
    }
    const auto estimate = unpaired_series_ratio(sides[0], sizes, sides[1], sizes);
    if (estimate.interval && estimate.interval->contains(1)) ++held;
  }
  return held;
}

TEST(UnpairedSeriesRatio, CoversWhatItSays) {
  EXPECT_GE(coverage(30, 0, 1, 0), 370);
  EXPECT_GE(coverage(60, 0.5, 1, 0), 365);
  EXPECT_GE(coverage(60, 0, 4, 0.02), 370);
}

TEST(UnpairedSeriesRatio, IsNarrowerThanTheProductOfTwoIntervals) {
  Noise noise(3);
  const Values a = times(noise, 60), b = times(noise, 60);
  const Sizes whole{60};
  const auto together = unpaired_series_ratio(a, whole, b, whole);
  const auto apart = unpaired_ratio(a, b);
  EXPECT_DOUBLE_EQ(together.ratio, apart.ratio);
  EXPECT_LT(together.interval->high - together.interval->low, apart.interval->high - apart.interval->low);
}

TEST(UnpairedSeriesRatio, HasNoIntervalOfTooFew) {
  const Values a{1, 2, 3}, b{1, 2, 3, 4, 5, 6, 7};
  const auto estimate = unpaired_series_ratio(a, {}, b, {});
  EXPECT_FALSE(estimate.interval);
  EXPECT_EQ(estimate.pairs, 3u);
}

TEST(UnpairedSeriesRatio, RefusesWhatHasNoRatio) {
  EXPECT_THROW(unpaired_series_ratio({}, {}, Values{1}, {}), std::invalid_argument);
  EXPECT_THROW(unpaired_series_ratio(Values{0}, {}, Values{1}, {}), std::invalid_argument);
}

auto near(double value) {
  return DoubleNear(value, 1e-12);
}

TEST(Estimate, OfFewValuesWithAnOutlierHasNoIntervalFarBeyondThem) {
  const auto interval_of = [](const Values& values) { return estimate(Series{values, {}, {}})->interval; };
  const Values wild{1, 1.02, 4.8, 0.99, 0.5, 1.01};  // 0.07 to 394 by the logarithms
  EXPECT_FALSE(interval_of(wild));
  Values rates;
  for (const double value : wild) rates.push_back(1 / value);
  EXPECT_FALSE(interval_of(rates)) << "as of the times";
  Values more = wild;
  more.push_back(1.03);
  EXPECT_FALSE(interval_of({wild.begin(), wild.end() - 1})) << "five never have one";
  const auto of_seven = interval_of(more);
  EXPECT_TRUE(!of_seven || of_seven->high < 4.8 + 10 * 4.3);
}

TEST(Estimate, OrdinaryFewValuesKeepTheirInterval) {
  Noise noise(3);
  for (const double spread : {0.001, 0.01, 0.03}) {
    int found = 0, beyond = 0;
    for (int i = 0; i < 300; ++i) {
      Values values = noise.series(6);
      for (double& value : values) value = std::exp(spread * value);
      const auto logs = series_median_interval([&] {
        Values in_logs;
        for (const double value : values) in_logs.push_back(std::log(value));
        return in_logs;
      }());
      const auto interval = estimate(Series{values, {}, {}})->interval;
      found += logs.has_value();
      beyond += logs.has_value() && !interval;
    }
    EXPECT_GT(found, 250);
    EXPECT_EQ(beyond, 0) << spread;
  }
  EXPECT_TRUE(estimate(Series{Values(6, 1e-3), {}, {}})->interval) << "equal values";
}

TEST(Holm, StepsDown) {
  // By R: p.adjust(c(.01, .04, .03, .005), "holm")
  EXPECT_THAT(holm_adjusted(Values{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(near(0.03), near(0.06), near(0.06), near(0.02)));
}

TEST(Holm, NeverFallsAndNeverPassesOne) {
  EXPECT_THAT(holm_adjusted(Values{0.9, 0.02, 0.011}), ElementsAre(near(0.9), near(0.04), near(0.033)));
  EXPECT_THAT(holm_adjusted(Values{0.6, 0.7}), ElementsAre(near(1), near(1)));
}

TEST(BenjaminiHochberg, StepsUp) {
  // By R: p.adjust(c(.01, .04, .03, .005), "BH")
  EXPECT_THAT(benjamini_hochberg_adjusted(Values{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(near(0.02), near(0.04), near(0.04), near(0.02)));
}

TEST(Multiplicity, OfOneIsItself) {
  EXPECT_THAT(holm_adjusted(Values{0.2}), ElementsAre(near(0.2)));
  EXPECT_THAT(benjamini_hochberg_adjusted(Values{0.2}), ElementsAre(near(0.2)));
  EXPECT_TRUE(holm_adjusted({}).empty());
}

TEST(Multiplicity, RefusesWhatIsNoProbability) {
  EXPECT_THROW(holm_adjusted(Values{0.5, 1.5}), std::invalid_argument);
  EXPECT_THROW(benjamini_hochberg_adjusted(Values{-0.1}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
