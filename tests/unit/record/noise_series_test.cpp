// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/noise_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace headroom {
namespace {

std::vector<double> frequencies(const NoiseSeries& noise) {
  std::vector<double> column;
  for (std::size_t i = 0; i < noise.size(); ++i) column.push_back(noise[i].frequency_mhz);
  return column;
}

TEST(NoiseSeries, HoldsWhatIsTheSameAndWhatIsNot) {
  NoiseSeries noise;
  EXPECT_TRUE(noise.empty());
  for (std::uint32_t i = 0; i < 3; ++i) noise.push_back({0.5, 7, i, 2600, 0});
  ASSERT_EQ(noise.size(), 3U);
  EXPECT_EQ(noise[2].steal_ms, 0.5);
  EXPECT_EQ(noise[2].involuntary_switches, 7U);
  EXPECT_EQ(noise[1].page_faults, 1U);
  EXPECT_EQ(noise.value(2, &SampleNoise::page_faults), 2U);
  EXPECT_EQ(noise.count_positive(&SampleNoise::steal_ms), 3U);
  EXPECT_EQ(noise.count_positive(&SampleNoise::page_faults), 2U);
  EXPECT_EQ(noise.count_positive(&SampleNoise::placement_ns), 0U);
  noise.set(1, {.frequency_mhz = 1200});
  EXPECT_EQ(frequencies(noise), (std::vector<double>{2600, 1200, 2600}));
  EXPECT_EQ(noise[1].involuntary_switches, 0U);
  EXPECT_EQ(noise[0].involuntary_switches, 7U);
}

TEST(NoiseSeries, GrowsByZeroesAndByOthers) {
  NoiseSeries noise;
  noise.resize(2);
  EXPECT_EQ(noise[1].frequency_mhz, 0);
  noise.set(0, {.frequency_mhz = 5});
  noise.resize(3);
  EXPECT_EQ(frequencies(noise), (std::vector<double>{5, 0, 0}));
  NoiseSeries same;
  same.push_back({.frequency_mhz = 8});
  same.resize(3);
  EXPECT_EQ(frequencies(same), (std::vector<double>{8, 0, 0}))
      << "what is added is zero, whatever the others are";
  same.append(noise);
  same.append(same);
  EXPECT_EQ(same.size(), 12U);
  EXPECT_EQ(frequencies(same)[9], 5);
  same.resize(1);
  EXPECT_EQ(frequencies(same), std::vector<double>{8});
  same.resize(0);
  same.push_back({.frequency_mhz = 3});
  EXPECT_EQ(frequencies(same), std::vector<double>{3});
}

TEST(NoiseSeries, CopiesAreTheirOwn) {
  NoiseSeries noise;
  noise.push_back({.frequency_mhz = 1});
  noise.push_back({.frequency_mhz = 2});
  NoiseSeries copy = noise;
  copy.set(1, {.frequency_mhz = 3});
  EXPECT_EQ(frequencies(noise), (std::vector<double>{1, 2}));
  const NoiseSeries moved = std::move(copy);
  EXPECT_EQ(frequencies(moved), (std::vector<double>{1, 3}));
  copy = {};
  EXPECT_TRUE(copy.empty());
  copy.resize(1);
  EXPECT_EQ(frequencies(copy), std::vector<double>{0});
}

TEST(NoiseSeries, TakesColumns) {
  NoiseSeries noise;
  std::vector<double> same(4, 2600), differing{1, 2, 3, 4};
  noise.set_column(&SampleNoise::frequency_mhz, std::move(same));
  EXPECT_EQ(noise.size(), 4U);
  EXPECT_EQ(frequencies(noise), std::vector<double>(4, 2600));
  noise.set_column(&SampleNoise::frequency_mhz, std::move(differing));
  EXPECT_EQ(frequencies(noise), (std::vector<double>{1, 2, 3, 4}));
  noise.set_column(&SampleNoise::page_faults, std::vector<std::uint32_t>{9});
  EXPECT_EQ(noise[0].page_faults, 9U);
  EXPECT_EQ(noise[1].page_faults, 0U) << "the rest of a column that is too short";
  noise.set_column(&SampleNoise::frequency_mhz, std::vector<double>(4, 7));
  EXPECT_EQ(frequencies(noise), std::vector<double>(4, 7));
}

TEST(NoiseSeries, KeepsEveryBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  NoiseSeries noise;
  noise.set_column(&SampleNoise::steal_ms, std::vector<double>{0.0, -0.0});
  noise.set_column(&SampleNoise::placement_ns, std::vector<double>{nan, nan});
  EXPECT_FALSE(std::signbit(noise[0].steal_ms));
  EXPECT_TRUE(std::signbit(noise[1].steal_ms));
  EXPECT_TRUE(std::isnan(noise[1].placement_ns));
  EXPECT_EQ(noise.count_positive(&SampleNoise::placement_ns), 0U);
  const std::vector<double> many(300'000, 4);
  std::vector<double> buffer = many;
  buffer.back() = 5;
  noise = {};
  noise.set_column(&SampleNoise::frequency_mhz, std::move(buffer));
  EXPECT_EQ(noise[299'998].frequency_mhz, 4);
  EXPECT_EQ(noise[299'999].frequency_mhz, 5);
}

}  // namespace
}  // namespace headroom
