// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/round_ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace headroom {
namespace {

/// Two commands in rounds: `noise` is of the moments, neighbours of which are correlated by `rho`.
struct Rounds {
  std::vector<double> test, baseline;

  Rounds(std::size_t count, double ratio, double noise, double rho, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    double moment = normal(random);
    const auto next = [&] {
      moment = rho * moment + std::sqrt(1 - rho * rho) * normal(random);
      return std::exp(noise * moment);
    };
    for (std::size_t i = 0; i < count; ++i) {
      const double first = next(), second = next();
      const bool swapped = random() % 2 == 0;
      test.push_back(ratio * (swapped ? second : first));
      baseline.push_back(swapped ? first : second);
    }
  }
};

bool claims(const RoundRatio& ratio) {
  return std::min(ratio.p_above(1), ratio.p_below(1)) <= ratio.tail();
}

/// A look after each round from the third on, and the last one.
bool claims_at_any_look(const Rounds& rounds) {
  const std::span<const double> test(rounds.test), baseline(rounds.baseline);
  for (std::size_t n = 3; n < test.size(); ++n) {
    if (claims(*RoundRatio::of(test.first(n), baseline.first(n), Look::kRunning))) return true;
  }
  return claims(*RoundRatio::of(test, baseline, Look::kLast));
}

TEST(RoundRatio, ToLookOftenCostsNoFalseAlarms) {
  constexpr int kSessions = 600;
  for (const double rho : {0.0, 0.9}) {
    int alarms = 0;
    for (int seed = 0; seed < kSessions; ++seed) {
      alarms += claims_at_any_look(Rounds(40, 1, 0.02, rho, static_cast<std::uint64_t>(seed))) ? 1 : 0;
    }
    EXPECT_LE(alarms, kSessions * 0.065) << "5 % and two standard errors; rho " << rho;
    EXPECT_GE(alarms, kSessions * 0.015) << "not bought by power; rho " << rho;
  }
}

TEST(RoundRatio, FindsWhatDiffers) {
  int found = 0;
  for (int seed = 0; seed < 200; ++seed) {
    const Rounds rounds(40, 1.03, 0.03, 0, static_cast<std::uint64_t>(seed));
    found += claims(*RoundRatio::of(rounds.test, rounds.baseline, Look::kLast)) ? 1 : 0;
  }
  EXPECT_GE(found, 190) << "Mann and Whitney at 5 %: 99 %";
}

TEST(RoundRatio, TheIntervalHoldsTheRatioAndFollowsTheLook) {
  const Rounds rounds(60, 1.5, 0.02, 0, 8);
  const RatioEstimate last = RoundRatio::of(rounds.test, rounds.baseline, Look::kLast)->estimate();
  const RatioEstimate running = RoundRatio::of(rounds.test, rounds.baseline, Look::kRunning)->estimate();
  EXPECT_NEAR(last.ratio, 1.5, 0.02);
  EXPECT_EQ(last.ratio, running.ratio);
  EXPECT_EQ(last.pairs, 60U);
  ASSERT_TRUE(last.interval && running.interval);
  EXPECT_TRUE(last.interval->contains(1.5));
  EXPECT_LT(running.interval->low, last.interval->low);
  EXPECT_GT(running.interval->high, last.interval->high);
  EXPECT_DOUBLE_EQ(last.interval->confidence, 0.95);
}

TEST(RoundRatio, DifferencesThatResembleTheirNeighboursWidenIt) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> test, baseline(200, 1), shuffled;
  double state = 0;
  for (int i = 0; i < 200; ++i) {
    state = 0.9 * state + 0.44 * normal(random);
    test.push_back(std::exp(0.01 * state + 0.001 * normal(random)));
  }
  shuffled = test;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  const auto width = [&](const std::vector<double>& values) {
    const auto interval = RoundRatio::of(values, baseline, Look::kLast)->estimate().interval;
    return interval->high - interval->low;
  };
  EXPECT_GT(width(test), 1.5 * width(shuffled));
}

TEST(RoundRatio, NeedsValuesAboveZero) {
  const std::vector<double> ones(10, 1), none(10, 0);
  EXPECT_FALSE(RoundRatio::of(ones, none, Look::kLast));
  EXPECT_FALSE(RoundRatio::of({}, {}, Look::kLast));
  EXPECT_FALSE(
      RoundRatio::of(std::span(ones).first(2), std::span(ones).first(2), Look::kLast)->estimate().interval);
}

}  // namespace
}  // namespace headroom
