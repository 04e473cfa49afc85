// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/autocorrelation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "noise.h"

namespace headroom {
namespace {

using test::Noise;
using Values = std::vector<double>;
using Sizes = std::vector<std::size_t>;

/// 1 + 2 sum 2/pi asin(rho^k): what the variance of the median of a long AR(1) series is multiplied by.
double exact_inflation(double rho) {
  double sum = 0;
  for (int lag = 1; lag < 400; ++lag) sum += 2 / std::numbers::pi * std::asin(std::pow(rho, lag));
  return 1 + 2 * sum;
}

TEST(MidRanks, ShareTheRanksOfTies) {
  const Values values = {30, 10, 20, 10, 10};
  Values ranks(5);
  mid_ranks(values, ranks);
  EXPECT_EQ(ranks, (Values{5, 2, 4, 2, 2}));
}

TEST(AutocorrelationInflation, OfALongAr1SeriesIsTheExactOne) {
  Noise noise(3);
  for (const double rho : {0.3, 0.5, 0.7, 0.9}) {
    const double inflation = autocorrelation_inflation(noise.series(20'000, rho));
    EXPECT_NEAR(inflation / exact_inflation(rho), 1, 0.12) << rho;
  }
}

TEST(Autocorrelation, KnowsTheCorrelationOfNeighbours) {
  Noise noise(8);
  for (const double rho : {-0.4, 0.0, 0.3, 0.8}) {
    const Values values = noise.series(20'000, rho);
    // Of ranks: 6/pi asin(rho/2) for normal values.
    const double expected = 6 / std::numbers::pi * std::asin(rho / 2);
    EXPECT_NEAR(autocorrelation(values).first_lag, expected, 0.03) << rho;
    const Sizes halves{10'000, 10'000};
    EXPECT_NEAR(autocorrelation(values, halves).first_lag, expected, 0.03) << rho;
    EXPECT_EQ(autocorrelation(values, halves).length, 10'000);
  }
  EXPECT_EQ(autocorrelation(Values{1, 2, 3}).first_lag, 0);
}

TEST(FirstLagInflation, IsThatOfAnAr1Series) {
  for (const double rho : {0.3, 0.5, 0.7}) {
    EXPECT_NEAR(first_lag_inflation(rho, 1e6) / exact_inflation(rho), 1, 0.001) << rho;
  }
  EXPECT_LT(first_lag_inflation(0.9, 10), exact_inflation(0.9)) << "a short series ends before it forgets";
  EXPECT_EQ(first_lag_inflation(-0.5, 100), 1);
}

TEST(AutocorrelationInflation, OfIndependentValuesIsNearlyOne) {
  Noise noise(4);
  EXPECT_LT(autocorrelation_inflation(noise.series(20'000)), 1.05);
  double sum = 0;
  for (int i = 0; i < 200; ++i) sum += autocorrelation_inflation(noise.series(30));
  EXPECT_LT(sum / 200, 1.35);
}

TEST(AutocorrelationInflation, OfAlternatingOrConstantValuesIsOne) {
  Values alternating;
  for (int i = 0; i < 40; ++i) alternating.push_back(i % 2);
  EXPECT_EQ(autocorrelation_inflation(alternating), 1);
  EXPECT_EQ(autocorrelation_inflation(Values(40, 5.0)), 1);
  EXPECT_EQ(autocorrelation_inflation(Values{1, 2, 3}), 1);
}

TEST(AutocorrelationInflation, DoesNotTakeDifferencesBetweenProcessesForCorrelation) {
  Noise noise(5);
  Values values;
  for (int process = 0; process < 4; ++process) {
    for (const double z : noise.series(50)) values.push_back(10 * process + z);
  }
  const std::vector<std::size_t> sizes(4, 50);
  EXPECT_LT(autocorrelation_inflation(values, sizes), 1.6);
  EXPECT_GT(autocorrelation_inflation(values), 20);
}

TEST(AutocorrelationInflation, SeesSlowDriftUnderNoise) {
  Noise noise(6);
  Values values = noise.series(200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 2 * std::sin(static_cast<double>(i) / 25);
  EXPECT_GT(autocorrelation_inflation(values), 10);
}

TEST(AutocorrelationInflation, RefusesWhatIsNotFinite) {
  EXPECT_THROW(autocorrelation_inflation(Values{1, 2, 3, NAN, 5}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
