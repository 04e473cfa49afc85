// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "headroom/stats/bisection.h"
#include "noise.h"

namespace headroom {
namespace {

constexpr std::size_t kVersions = 30;

struct Search {
  Bisection bisection{kVersions};
  std::size_t rounds = 0;

  /// Measures in batches of four rounds, with normal noise.
  void run(std::size_t first_changed, double change, double deviation, test::Noise& noise) {
    const auto time = [&](std::size_t version) {
      return std::log(1 + (version >= first_changed ? change : 0)) + deviation * noise.normal();
    };
    for (int i = 0; i < 12; ++i) bisection.add_ends(time(0), time(kVersions - 1));
    while (bisection.likeliest().share < 0.95 && rounds < 400) {
      const auto version = bisection.next();
      if (!version) return;
      for (int i = 0; i < 4; ++i, ++rounds)
        bisection.add(*version, time(0), time(*version), time(kVersions - 1));
    }
  }
};

TEST(Bisection, NamesTheChangedVersionAsOftenAsStated) {
  for (const double deviation : {0.005, 0.01, 0.02}) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      test::Noise noise(seed + 1);
      const std::size_t first_changed = 1 + seed % (kVersions - 1);
      Search search;
      search.run(first_changed, 0.02, deviation, noise);
      const Bisection::Range found = search.bisection.likeliest();
      EXPECT_EQ(found.begin, found.end);
      right += found.end == first_changed ? 1 : 0;
    }
    EXPECT_GE(right, 94) << deviation;
  }
}

TEST(Bisection, HalvesTheRangeWithoutNoise) {
  test::Noise noise(1);
  Search search;
  search.run(17, -0.3, 0, noise);
  EXPECT_EQ(search.bisection.likeliest().end, 17U);
  EXPECT_LE(search.rounds, 4U * 5U) << "2^5 versions";
  EXPECT_NEAR(search.bisection.ratio(), 0.7, 1e-9);
}

TEST(Bisection, WhatCannotBeMeasuredMakesARange) {
  test::Noise noise(2);
  Search search;
  for (const std::size_t version : {15U, 16U}) search.bisection.exclude(version);
  search.run(17, 0.3, 0.001, noise);
  const Bisection::Range found = search.bisection.likeliest();
  EXPECT_EQ(found.begin, 15U);
  EXPECT_EQ(found.end, 17U);
  EXPECT_GE(found.share, 0.95);
}

TEST(Bisection, ARangeHoldsTheShareThatIsAsked) {
  Bisection bisection(11);
  bisection.add_ends(0, 1);
  EXPECT_NEAR(bisection.likeliest().share, 0.1, 1e-9);
  const Bisection::Range half = bisection.range(0.5);
  EXPECT_EQ(half.end - half.begin + 1, 5U);
  const Bisection::Range all = bisection.range(1);
  EXPECT_EQ(all.begin, 1U);
  EXPECT_EQ(all.end, 10U);
  EXPECT_EQ(Bisection(2).next(), std::nullopt);
  EXPECT_THROW(Bisection(1), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
