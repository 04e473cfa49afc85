// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headroom/stats/modes.h"
#include "noise.h"

namespace headroom {
namespace {

using test::Noise;

using Values = std::vector<double>;

/// By hand: the nearest unimodal distribution.
TEST(Dip, OfFewValues) {
  EXPECT_DOUBLE_EQ(dip_of(Values{7}).statistic, 0.5);
  EXPECT_DOUBLE_EQ(dip_of(Values{1, 2, 3, 4}).statistic, 1.0 / 8);
  EXPECT_DOUBLE_EQ(dip_of(Values{5, 5, 5, 5, 5}).statistic, 1.0 / 10);
}

/// Half at either end: a quarter from any unimodal distribution.
TEST(Dip, OfTwoFarPointsIsAQuarter) {
  Values values(50, 1.0);
  values.resize(100, 2.0);
  EXPECT_NEAR(dip_of(values).statistic, 0.25, 0.01);
}

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

/// 200 values of a quadratic generator; dips from PyPI's diptest 0.12.0 (AS 217).
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

int alarms(std::size_t count, std::uint64_t seed, const std::function<double(Noise&)>& value) {
  Noise noise(seed);
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    Values values(count);
    std::ranges::generate(values, [&] { return value(noise); });
    found += find_modes(values).groups.empty() ? 0 : 1;
  }
  return found;
}

TEST(FindModes, SeldomTakesOneGroupForTwo) {
  for (const std::size_t count : {10U, 20U, 50U, 200U}) {
    // Under 1 % of 2,000.
    EXPECT_LE(alarms(count, 1, [](Noise& noise) { return std::exp(0.3 * noise.normal()); }), 10) << count;
    EXPECT_LE(alarms(count, 2, [](Noise& noise) { return std::exp(noise.normal()); }), 10) << count;
    EXPECT_LE(alarms(count, 3, [](Noise& noise) { return 1 - std::log(noise.uniform()); }), 10) << count;
    EXPECT_LE(alarms(count, 4, [](Noise& noise) { return 10 + noise.uniform(); }), 20) << count;
    EXPECT_LE(alarms(count, 5,
                     [](Noise& noise) { return (10 + noise.normal()) * (noise.uniform() < 0.05 ? 3 : 1); }),
              10)
        << count;
  }
}

TEST(FindModes, TakesTheReadingsOfACoarseClockForOneGroup) {
  for (const double grain : {1.0, 0.2}) {
    EXPECT_LE(
        alarms(200, 6, [grain](Noise& noise) { return 10 + grain * std::round(noise.normal() / grain); }), 10)
        << grain;
  }
}

TEST(FindModes, PartsTheReadingsOfACoarseClockFarApart) {
  Values values;
  for (int i = 0; i < 40; ++i) {
    values.push_back(100 + i % 2);
    values.push_back(150 + i % 2);
  }
  EXPECT_EQ(find_modes(values).groups.size(), 2U) << "spread over a grain of 1, not of more";
}

TEST(FindModes, NeverPartsEqualReadings) {
  Noise noise(12);
  for (int i = 0; i < 2000; ++i) {
    Values values(60);
    for (double& value : values) value = 5 + std::floor(3 * noise.uniform() * noise.uniform());
    EXPECT_NO_THROW((void)find_modes(values));
  }
}

TEST(FindModes, SeldomSeesGroupsWhereNeighboursAreAlike) {
  Noise noise(7);
  for (const std::size_t count : {20U, 100U}) {
    int found = 0;
    for (int i = 0; i < 1000; ++i) {
      Values values = noise.series(count, 0.7);
      for (double& value : values) value += 10;
      found += find_modes(values).groups.empty() ? 0 : 1;
    }
    EXPECT_LE(found, 10) << count;
  }
}

Values two_times(Noise& noise, std::size_t count, double share, double spikes = 0) {
  Values values(count);
  for (double& value : values) {
    value = (noise.uniform() < share ? 14 : 10) * (1 + 0.03 * noise.normal());
    value *= noise.uniform() < spikes ? 3 : 1;
  }
  return values;
}

TEST(FindModes, FindsTwoTimesAndTheirShares) {
  Noise noise(8);
  int found = 0, spiky = 0;
  for (int i = 0; i < 300; ++i) {
    const Modes modes = find_modes(two_times(noise, 60, 0.4));
    spiky += find_modes(two_times(noise, 100, 0.4, 0.03)).groups.size() == 2 ? 1 : 0;
    if (modes.groups.size() != 2) continue;
    ++found;
    EXPECT_NEAR(modes.groups[0].median, 10, 0.5);
    EXPECT_NEAR(modes.groups[1].median, 14, 0.7);
    EXPECT_NEAR(modes.groups[1].share, 0.4, 0.27);
    EXPECT_DOUBLE_EQ(modes.groups[0].share + modes.groups[1].share, 1);
  }
  EXPECT_GE(found, 285);
  EXPECT_GE(spiky, 285);
}

TEST(FindModes, FindsThree) {
  Noise noise(9);
  Values values;
  for (int i = 0; i < 150; ++i) values.push_back(10 + 3 * (i % 3) + 0.1 * noise.normal());
  const Modes modes = find_modes(values);
  ASSERT_EQ(modes.groups.size(), 3U);
  for (const Mode& group : modes.groups) EXPECT_NEAR(group.share, 1.0 / 3, 1e-9);
}

TEST(FindModes, TellsAStepFromChance) {
  Noise noise(10);
  Values values = two_times(noise, 80, 0.5);
  const Modes mixed = find_modes(values);
  ASSERT_EQ(mixed.groups.size(), 2U);
  EXPECT_FALSE(mixed.in_stretches);
  std::ranges::sort(values);
  const Modes step = find_modes(values);
  ASSERT_EQ(step.groups.size(), 2U);
  EXPECT_TRUE(step.in_stretches);
  EXPECT_EQ(step.changes, 1U);
}

TEST(ModesBetween, CountsChangesWithinProcesses) {
  const Values values{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2};
  const Values bounds{1.5};
  EXPECT_TRUE(modes_between(values, bounds).in_stretches);
  const Modes within = modes_between(values, bounds, std::vector<std::size_t>{6, 6});
  EXPECT_FALSE(within.in_stretches);
  EXPECT_EQ(within.changes, 0U);
  EXPECT_DOUBLE_EQ(within.groups[1].share, 0.5);
  EXPECT_THROW((void)modes_between(values, Values{3}), std::invalid_argument);
}

TEST(FindModes, NothingOfFewOrEqualOrNearlyEqualValues) {
  EXPECT_TRUE(find_modes(Values{}).groups.empty());
  EXPECT_TRUE(find_modes(Values{1, 1, 1, 2, 2, 2, 2}).groups.empty());
  EXPECT_TRUE(find_modes(Values(40, 5.0)).groups.empty());
  Noise noise(11);
  Values close;
  for (int i = 0; i < 100; ++i) close.push_back(100 + 0.5 * (i % 2) + 0.01 * noise.normal());
  EXPECT_TRUE(find_modes(close).groups.empty()) << "0.5 % apart";
  EXPECT_THROW((void)find_modes(Values{1, std::numeric_limits<double>::quiet_NaN()}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
