// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "headroom/stats/compare.h"
#include "noise.h"

namespace headroom {
namespace {

using test::Noise;
using Sizes = std::vector<std::size_t>;
using Values = std::vector<double>;

Values times(Noise& noise, std::size_t count, double rho = 0) {
  Values values = noise.series(count, rho);
  for (double& value : values) value = 100 * std::exp(0.01 * value);
  return values;
}

/// Of 400 pairs of series that do not differ, how many intervals hold 1.
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

}  // namespace
}  // namespace headroom
