// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/distribution.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headroom {
namespace {

TEST(NormalQuantile, MatchesTheTable) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-9);
  EXPECT_NEAR(normal_quantile(0.995), 2.575829303548901, 1e-9);
  EXPECT_NEAR(normal_quantile(0.025), -1.959963984540054, 1e-9);
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_THROW(normal_quantile(0), std::invalid_argument);
  EXPECT_THROW(normal_quantile(1), std::invalid_argument);
}

TEST(StudentTQuantile, MatchesTheTable) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706205, 1e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.302653, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.182446, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.776445, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.995, 9), 3.249836, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.05, 10), -1.812461, 1e-6);
  EXPECT_THROW(student_t_quantile(0.975, 0), std::invalid_argument);
}

// Conover, table of the ranks of the median's interval; 2 P(B < low) is the chance to miss.
TEST(BinomialRanks, OfTheMedianMatchTheTable) {
  const auto expect = [](std::size_t n, std::size_t low, std::size_t high) {
    const RankPair ranks = binomial_ranks(n, 0.5, 0.025);
    EXPECT_EQ(ranks.low, low) << n;
    EXPECT_EQ(ranks.high, high) << n;
  };
  expect(6, 1, 6);
  expect(8, 1, 8);
  expect(9, 2, 8);
  expect(10, 2, 9);
  expect(20, 6, 15);
  expect(25, 8, 18);
  expect(50, 18, 33);
  expect(100, 40, 61);
}

TEST(BinomialRanks, SayWhereTheSampleDoesNotReach) {
  EXPECT_EQ(binomial_ranks(5, 0.5, 0.025).low, 0u);
  EXPECT_EQ(binomial_ranks(5, 0.5, 0.025).high, 6u);
  // 0.99^n <= 0.025 from n = 368 on.
  EXPECT_EQ(binomial_ranks(367, 0.99, 0.025).high, 368u);
  EXPECT_EQ(binomial_ranks(368, 0.99, 0.025).high, 368u);
}

TEST(BinomialRanks, OfManyValuesDoNotUnderflow) {
  const RankPair ranks = binomial_ranks(10'000, 0.5, 0.025);
  // 5000 -+ 1.96 * 50.
  EXPECT_EQ(ranks.low, 4902u);
  EXPECT_EQ(ranks.high, 5099u);
}

}  // namespace
}  // namespace headroom
