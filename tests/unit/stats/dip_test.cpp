// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/dip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "noise.h"

namespace headroom {
namespace {

using Values = std::vector<double>;

/// Worked out by hand: the nearest distribution with one mode.
TEST(Dip, OfFewValues) {
  EXPECT_DOUBLE_EQ(dip_of(Values{7}).statistic, 0.5);
  EXPECT_DOUBLE_EQ(dip_of(Values{1, 2, 3, 4}).statistic, 1.0 / 8);
  EXPECT_DOUBLE_EQ(dip_of(Values{5, 5, 5, 5, 5}).statistic, 1.0 / 10);
}

/// Half of the values at either end: no distribution with one mode is nearer than a quarter.
TEST(Dip, OfTwoFarPointsIsAQuarter) {
  Values values(50, 1.0);
  values.resize(100, 2.0);
  EXPECT_NEAR(dip_of(values).statistic, 0.25, 0.01);
}

/// The valley lies between the groups, whichever is the larger.
TEST(Dip, TellsTheValley) {
  for (const std::size_t lower : {30U, 70U}) {
    test::Noise noise(3);
    Values values;
    for (std::size_t i = 0; i < 100; ++i) values.push_back((i < lower ? 10 : 14) + 0.1 * noise.normal());
    std::ranges::sort(values);
    const Dip dip = dip_of(values);
    EXPECT_LT(values[dip.valley_low], 12);
    EXPECT_GT(values[dip.valley_high], 12);
  }
}

/// Values of 200 numbers of a quadratic generator, whose dip was computed with diptest 0.12.0 of PyPI, which
/// runs AS 217.
TEST(Dip, AgreesWithThePublishedAlgorithm) {
  Values values;
  for (int i = 0; i < 200; ++i) values.push_back(i % 2 * 40 + (i * i * 7 + i * 3) % 101);
  std::ranges::sort(values);
  EXPECT_NEAR(dip_of(values).statistic, 0.02958333333333333, 1e-12);
}

TEST(Dip, RefusesWhatHasNone) {
  EXPECT_THROW((void)dip_of(Values{}), std::invalid_argument);
  EXPECT_THROW((void)dip_of(Values{2, 1}), std::invalid_argument);
}

TEST(DipCritical, IsExceededByOneInTwoHundredUniformSamples) {
  test::Noise noise(4);
  for (const std::size_t count : {8U, 13U, 35U, 120U, 700U}) {
    int beyond = 0;
    for (int i = 0; i < 2000; ++i) {
      Values values(count);
      std::ranges::generate(values, [&] { return noise.uniform(); });
      std::ranges::sort(values);
      beyond += dip_of(values).statistic > dip_critical(count) ? 1 : 0;
    }
    // 10 are expected; three standard errors.
    EXPECT_GE(beyond, 1) << count;
    EXPECT_LE(beyond, 20) << count;
  }
  EXPECT_EQ(dip_critical(7), 0.25);
  EXPECT_LT(dip_critical(100000), dip_critical(50000));
}

}  // namespace
}  // namespace headroom
