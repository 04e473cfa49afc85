// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/level_shift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "headroom/stats/distribution.h"
#include "headroom/stats/permutation_tail.h"
#include "noise.h"

namespace headroom {
namespace {

using Values = std::vector<double>;

/// The z of the share of all draws of `count` scores that add up to `sum` or more, counted.
double counted_z(const Values& scores, std::size_t count, double sum) {
  std::vector<bool> drawn(scores.size());
  std::fill(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(count), true);
  double all = 0, beyond = 0;
  do {
    double total = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) total += drawn[i] ? scores[i] : 0;
    ++all;
    beyond += total >= sum - 1e-9;
  } while (std::prev_permutation(drawn.begin(), drawn.end()));
  return -normal_quantile(beyond / all);
}

Values centred(Values scores) {
  std::sort(scores.begin(), scores.end(), std::greater<>());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  for (double& score : scores) score -= mean;
  return scores;
}

void expect_as_counted(const Values& scores, std::size_t count) {
  // The largest sums, and some in between: the values at every `gap`th place.
  for (std::size_t gap = 1; gap * count <= scores.size() * 2 / 3; ++gap) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += scores[i * gap];
    if (sum <= 0) break;
    EXPECT_NEAR(permutation_tail_z(scores, count, sum), counted_z(scores, count, sum),
                count < 5 ? 0.25 : 0.15)
        << count << " of " << scores.size() << ", every " << gap;
  }
}

TEST(PermutationTail, IsWhatCountingTheDrawsGives) {
  test::Noise noise(1);
  Values ranks(20), coarse(20), heavy(20);
  std::iota(ranks.begin(), ranks.end(), 1.0);
  for (double& value : coarse) value = std::round(noise.normal());
  for (double& value : heavy) value = std::clamp(2 * noise.normal() / noise.normal(), -3.5, 3.5);
  for (const Values& scores : {ranks, coarse, heavy, noise.series(20)}) {
    for (const std::size_t count : {3, 5, 8}) expect_as_counted(centred(scores), count);
  }
}

TEST(LevelShift, FiveNewValuesAboveAllOthersAreAsRareAsTheyAre) {
  test::Noise noise(2);
  Values values = noise.series(55);
  for (std::size_t i = 50; i < 55; ++i) values[i] += 8;
  const auto shift = rarest_level_shift(values);
  ASSERT_TRUE(shift);
  EXPECT_EQ(shift->index, 50u);
  // 1 in C(55, 5) = 3,478,761.
  EXPECT_NEAR(shift->z, -normal_quantile(1 / 3478761.0), 0.1);
}

TEST(LevelShift, UpAndDownBeforeAndAfterAreTheSame) {
  test::Noise noise(3);
  Values values = noise.series(50);
  for (std::size_t i = 42; i < 50; ++i) values[i] += 4;
  const auto up = rarest_level_shift(values);
  Values mirrored = values;
  for (double& value : mirrored) value = -value;
  EXPECT_NEAR(rarest_level_shift(mirrored)->z, up->z, 1e-6);
  std::reverse(mirrored.begin(), mirrored.end());
  EXPECT_NEAR(rarest_level_shift(mirrored)->z, up->z, 1e-6);
  EXPECT_EQ(rarest_level_shift(mirrored)->index, 50 - up->index);
}

TEST(LevelShift, TwoSpikesAreNoLevel) {
  test::Noise noise(4);
  Values values = noise.series(200);
  values[198] = values[199] = 100;
  values[197] = 0.3;
  EXPECT_LT(rarest_level_shift(values)->z, 4);
  values[197] = 99;
  EXPECT_GT(rarest_level_shift(values)->z, 4.5);
  values[197] = 70;  // a level that scatters more than the one before is one
  EXPECT_GT(rarest_level_shift(values)->z, 4.5);
}

TEST(LevelShift, TooFewEqualAndInfiniteValues) {
  EXPECT_FALSE(rarest_level_shift(Values{1, 2, 3, 4, 5}));
  EXPECT_EQ(rarest_level_shift(Values(30, 7.0))->z, 0);
  Values values(30, 7.0);
  values[4] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(rarest_level_shift(values), std::invalid_argument);
}

TEST(LevelShift, MostValuesEqual) {
  Values values(40, 7.0);
  for (std::size_t i = 34; i < 40; ++i) values[i] = 8;
  const auto shift = rarest_level_shift(values);
  EXPECT_EQ(shift->index, 34u);
  EXPECT_GT(shift->z, 4);
}

TEST(LevelShift, PlaceIsWhereTwoLevelsFit) {
  Values values{1, 2, 1, 2, 1, 2, 1, 2, 6, 7, 6, 7, 6};
  for (const std::size_t near : {5, 8, 10}) EXPECT_EQ(best_step_place(values, near), 8u) << near;
  values[2] = 1e6;  // one spike does not move it
  EXPECT_EQ(best_step_place(values, 9), 8u);
}

}  // namespace
}  // namespace headroom
