// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/betting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

std::vector<double> normal_values(std::size_t n, double mean, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(mean, 1);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(noise(random));
  return values;
}

/// Share of series in which a claim is made at any of the looks, one after each value.
double claimed_at_any_look(double tail, double (*draw)(std::mt19937_64&)) {
  constexpr int kSeries = 300;
  int claimed = 0;
  for (int seed = 0; seed < kSeries; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::vector<double> values;
    for (int n = 0; n < 100; ++n) {
      values.push_back(draw(random));
      const Bets bets(values);
      if (bets.p_above(0) <= tail || bets.p_below(0) <= tail) {
        ++claimed;
        break;
      }
    }
  }
  return static_cast<double>(claimed) / kSeries;
}

TEST(Bets, ToLookAfterEachValueMakesNoMoreFalseClaims) {
  const auto normal = [](std::mt19937_64& random) { return std::normal_distribution<double>()(random); };
  const auto coin = [](std::mt19937_64& random) { return random() % 2 == 0 ? -1.0 : 1.0; };
  const auto spiky = [](std::mt19937_64& random) {
    const double value = std::normal_distribution<double>()(random);
    return random() % 10 == 0 ? 100 * value : value;
  };
  // At most .1 by Ville; the bound is rarely reached in 100 values, and is not far from it either.
  EXPECT_LE(claimed_at_any_look(0.05, normal), 0.1);
  EXPECT_GE(claimed_at_any_look(0.05, normal), 0.02);
  EXPECT_LE(claimed_at_any_look(0.05, coin), 0.1);
  EXPECT_LE(claimed_at_any_look(0.05, spiky), 0.1);
}

TEST(Bets, AStakeIsOneOnAverage) {
  // All signs of six values, which are all there is where values are symmetric: the mean stake is 1.
  const double sizes[] = {3, 1, 4, 1.5, 9, 2.6};
  double stakes = 0;
  for (unsigned signs = 0; signs < 64; ++signs) {
    std::vector<double> values;
    for (unsigned i = 0; i < 6; ++i) values.push_back((signs >> i & 1U) != 0 ? sizes[i] : -sizes[i]);
    // A stake below 1 is told as a p of 1: what it won over all on the other side is what it lost here.
    stakes += 1 / Bets(values).p_above(0) - 1;
  }
  EXPECT_GT(stakes, 0);
  EXPECT_LT(stakes, 64) << "the part above 1 of a mean of 1";
  EXPECT_LE(Bets(std::vector<double>{3, 1, 4, 1.5, 9, 2.6}).p_above(0), 0.06);
}

TEST(Bets, TellWhatDiffersAndWhereItLies) {
  const std::vector<double> values = normal_values(200, 0.5, 1);
  const Bets bets(values);
  EXPECT_LE(bets.p_above(0), 1e-4);
  EXPECT_EQ(bets.p_below(0), 1);
  const auto interval = bets.interval(0.025);
  ASSERT_TRUE(interval);
  EXPECT_TRUE(interval->contains(0.5));
  EXPECT_GT(interval->low, 0);
  EXPECT_LT(interval->high, 1);
  EXPECT_NEAR(bets.p_above(interval->low), 0.025, 1e-3);
  EXPECT_NEAR(bets.p_below(interval->high), 0.025, 1e-3);
}

TEST(Bets, FewValuesTellNothingAndEqualOnesOnlyTheirSide) {
  EXPECT_FALSE(Bets(std::vector<double>(5, 1)).interval(0.0025));
  const Bets equal(std::vector<double>(20, 1));
  EXPECT_LE(equal.p_above(0.99), 0.001);
  EXPECT_EQ(equal.p_above(1), 1);
  ASSERT_TRUE(equal.interval(0.0025));
  EXPECT_NEAR(equal.interval(0.0025)->low, 1, 1e-9);
  EXPECT_EQ(Bets({}).p_above(0), 1);
  EXPECT_FALSE(Bets({}).interval(0.1));
}

TEST(Bets, ValuesThatResembleTheirNeighboursCountForLess) {
  const std::vector<double> values = normal_values(100, 0.6, 3);
  const double alone = Bets(values).p_above(0);
  ASSERT_LT(alone, 0.05);
  EXPECT_NEAR(Bets(values, 2).p_above(0), std::sqrt(alone), 1e-9);
  EXPECT_THROW(Bets(values, 0.5), std::invalid_argument);
  EXPECT_THROW(Bets(std::vector<double>{1, NAN}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
