// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/paired_ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

TEST(PairedRanks, CountsWhatTheCoinsCouldHaveMade) {
  // Ranks of b - ranks of a: 2 - 1, 4 - 3, 5 - 6: of the signs of 1, 1, 1 four sums of eight are at least 1.
  const PairedRanks ranks(std::vector<double>{1, 3, 6}, std::vector<double>{2, 4, 5});
  EXPECT_DOUBLE_EQ(ranks.p_above(0), 0.5);
  EXPECT_EQ(ranks.p_below(0), 1);
  // All rounds agree: one of eight.
  EXPECT_DOUBLE_EQ(PairedRanks(std::vector<double>{1, 3, 5}, std::vector<double>{2, 4, 6}).p_above(0), 0.125);
  // Differences of ranks 5, 1, -1: of eight sums of such sizes 7, 5 and 5 are at least 5.
  EXPECT_DOUBLE_EQ(PairedRanks(std::vector<double>{1, 2, 5}, std::vector<double>{6, 3, 4}).p_above(0), 0.375);
}

TEST(PairedRanks, TheMiddleIsTheMedianOfAllDifferences) {
  const std::vector<double> a{1, 2, 4}, b{3, 7, 8};
  // -1, 1, 2, 3, 4, 5, 6, 6, 7
  EXPECT_NEAR(PairedRanks(a, b).middle(), 4, 1e-9);
  // Two and two: 2, 3, 5, 6.
  EXPECT_NEAR(PairedRanks(std::vector<double>{1, 2}, std::vector<double>{4, 7}).middle(), 4, 1e-9);
  EXPECT_NEAR(PairedRanks(std::vector<double>{5, 5}, std::vector<double>{5, 5}).middle(), 0, 1e-9);
}

TEST(PairedRanks, SixRoundsThatAgreeAreEnoughAndFiveAreNot) {
  const std::vector<double> a{0, 1, 2, 3, 4, 5}, b{10.1, 11.5, 12.2, 13.4, 14.3, 15.6};
  const PairedRanks ranks(a, b);
  EXPECT_DOUBLE_EQ(ranks.p_above(0), std::exp2(-6));
  const auto interval = ranks.interval(0.0225);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 10.1, 1e-6) << "the smallest difference of a round";
  EXPECT_NEAR(interval->high, 10.6, 1e-6);
  EXPECT_EQ(fewest_pairs(0.0225), 6U);
  EXPECT_FALSE(PairedRanks(std::span(a).first(5), std::span(b).first(5)).interval(0.0225));
}

TEST(PairedRanks, TheIntervalIsWhatIsNotRejected) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise;
  for (const std::size_t n : {12U, 60U}) {
    std::vector<double> a, b;
    for (std::size_t i = 0; i < n; ++i) {
      a.push_back(noise(random));
      b.push_back(noise(random) + 2);
    }
    const PairedRanks ranks(a, b);
    const auto interval = ranks.interval(0.025);
    ASSERT_TRUE(interval);
    EXPECT_TRUE(interval->contains(ranks.middle()));
    EXPECT_TRUE(interval->contains(2));
    EXPECT_LE(ranks.p_above(interval->low - 1e-6), 0.025);
    EXPECT_GT(ranks.p_above(interval->low + 1e-6), 0.025);
    EXPECT_LE(ranks.p_below(interval->high + 1e-6), 0.025);
    const auto wide = PairedRanks(a, b, 3).interval(0.025);
    EXPECT_LT(wide->low, interval->low);
    EXPECT_GT(wide->high, interval->high);
  }
}

TEST(PairedRanks, RoundsThatDriftAreComparedWithinEach) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<double> a, b;
  for (int i = 0; i < 30; ++i) {
    a.push_back(i + noise(random));
    b.push_back(i + 0.05 + noise(random));
  }
  EXPECT_LE(PairedRanks(a, b).p_above(0), 1e-5);
}

TEST(PairedRanks, RefusesWhatCannotBe) {
  const std::vector<double> one{1}, two{1, 2}, bad{NAN};
  EXPECT_THROW(PairedRanks(one, two), std::invalid_argument);
  EXPECT_THROW(PairedRanks({}, {}), std::invalid_argument);
  EXPECT_THROW(PairedRanks(one, bad), std::invalid_argument);
  EXPECT_THROW(PairedRanks(one, one, 0.5), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
