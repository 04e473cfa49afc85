// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/series_parts.h"

#include <gtest/gtest.h>

#include "noise.h"

namespace headroom {
namespace {

using Values = std::vector<double>;

std::vector<SeriesPart> parts_of(const Values& values) {
  return series_parts(values, change_points(values));
}

/// Around 100, with a standard deviation of 1.
Values around_100(test::Noise& noise, std::size_t count) {
  Values values = noise.series(count);
  for (double& value : values) value += 100;
  return values;
}

TEST(SeriesParts, StepsAreLevels) {
  test::Noise noise(1);
  int drifts = 0, two = 0;
  for (int i = 0; i < 200; ++i) {
    Values values = around_100(noise, 60);
    for (std::size_t k = 40; k < 60; ++k) values[k] += 4;
    const auto parts = parts_of(values);
    two += parts.size() == 2;
    for (const SeriesPart& part : parts) drifts += part.drifts;
  }
  EXPECT_GE(two, 190);
  EXPECT_LE(drifts, 4);
}

TEST(SeriesParts, ADriftIsOnePartWithALine) {
  test::Noise noise(2);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    Values values = around_100(noise, 60);
    for (std::size_t k = 0; k < 60; ++k) values[k] += 10 * static_cast<double>(k) / 59;
    const auto parts = parts_of(values);
    if (parts.size() != 1 || !parts[0].drifts) continue;
    ++found;
    EXPECT_NEAR(parts[0].last - parts[0].first, 10, 3);
  }
  EXPECT_GE(found, 180);
}

TEST(SeriesParts, SteadySeriesNeitherDriftNorChangeTheirSpread) {
  test::Noise noise(3);
  int drifts = 0, spreads = 0;
  for (int i = 0; i < 500; ++i) {
    const Values values = around_100(noise, 80);
    const auto parts = parts_of(values);
    for (const SeriesPart& part : parts) drifts += part.drifts;
    spreads += !spread_changes(values, parts).empty();
  }
  EXPECT_LE(drifts, 5);
  EXPECT_LE(spreads, 8);
}

TEST(SeriesParts, SpreadThatGrowsIsFoundAndIsNoLevel) {
  test::Noise noise(4);
  int found = 0;
  for (int i = 0; i < 100; ++i) {
    Values values = around_100(noise, 100);
    for (std::size_t k = 60; k < 100; ++k) values[k] = 100 + 4 * (values[k] - 100);
    const auto changes = spread_changes(values, parts_of(values));
    if (changes.size() != 1) continue;
    ++found;
    EXPECT_GT(changes[0].ratio, 1.5);
  }
  EXPECT_GE(found, 90);
}

TEST(SeriesParts, ChangesOfLessThanTheLeastAreLeftOut) {
  Values values;
  for (int i = 0; i < 90; ++i) values.push_back((i < 30 ? 100 : i < 60 ? 101 : 120) + 0.01 * (i * 7 % 11));
  const auto changes = change_points(values);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(parts_that_differ(values, changes, 0).size(), 3u);
  const auto parts = parts_that_differ(values, changes, 0.05);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].begin, 60u);
  EXPECT_EQ(parts_that_differ(values, changes, 0.5).size(), 1u);
  EXPECT_TRUE(parts_that_differ({}, {}, 0.5).empty());
}

}  // namespace
}  // namespace headroom
