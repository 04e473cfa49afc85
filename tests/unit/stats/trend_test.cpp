// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/trend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "noise.h"

namespace headroom {
namespace {

using test::Noise;
using Values = std::vector<double>;

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

}  // namespace
}  // namespace headroom
