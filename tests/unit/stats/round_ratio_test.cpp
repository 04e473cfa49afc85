// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "headroom/stats/round_ratio.h"

namespace headroom {
namespace {

TEST(PairedRanks, CountsWhatTheCoinsCouldHaveMade) {
  // Rank differences 2 - 1, 4 - 3, 5 - 6: four of eight signed sums of 1, 1, 1 are at least 1.
  const PairedRanks ranks(std::vector<double>{1, 3, 6}, std::vector<double>{2, 4, 5});
  EXPECT_DOUBLE_EQ(ranks.p_above(0), 0.5);
  EXPECT_EQ(ranks.p_below(0), 1);
  // All rounds agree: one of eight.
  EXPECT_DOUBLE_EQ(PairedRanks(std::vector<double>{1, 3, 5}, std::vector<double>{2, 4, 6}).p_above(0), 0.125);
  // Differences 5, 1, -1: of eight signed sums 7, 5 and 5 are at least 5.
  EXPECT_DOUBLE_EQ(PairedRanks(std::vector<double>{1, 2, 5}, std::vector<double>{6, 3, 4}).p_above(0), 0.375);
}

TEST(PairedRanks, TheMiddleIsTheMedianOfAllDifferences) {
  const std::vector<double> a{1, 2, 4}, b{3, 7, 8};
  // -1, 1, 2, 3, 4, 5, 6, 6, 7
  EXPECT_NEAR(PairedRanks(a, b).middle(), 4, 1e-9);
  // Pairwise: 2, 3, 5, 6.
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

std::vector<double> normal_values(std::size_t n, double mean, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(mean, 1);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(noise(random));
  return values;
}

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
  // Ville's bound, rarely reached by 100 values.
  EXPECT_LE(claimed_at_any_look(0.05, normal), 0.1);
  EXPECT_GE(claimed_at_any_look(0.05, normal), 0.02);
  EXPECT_LE(claimed_at_any_look(0.05, coin), 0.1);
  EXPECT_LE(claimed_at_any_look(0.05, spiky), 0.1);
}

TEST(Bets, AStakeIsOneOnAverage) {
  // All signs: the mean stake of symmetric values is 1.
  const double sizes[] = {3, 1, 4, 1.5, 9, 2.6};
  double stakes = 0;
  for (unsigned signs = 0; signs < 64; ++signs) {
    std::vector<double> values;
    for (unsigned i = 0; i < 6; ++i) values.push_back((signs >> i & 1U) != 0 ? sizes[i] : -sizes[i]);
    // Stakes below 1 give p = 1; over all signs gains and losses cancel.
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

/// Looks after each round from the third on.
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
