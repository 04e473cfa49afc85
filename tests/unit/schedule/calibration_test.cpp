// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

struct Search {
  std::uint64_t iterations = 0;
  int readings = 0;
  double spent_ns = 0;
};

/// Calibrates on a clock of our own: time_of(iterations, number of the reading).
Search calibrate(double target_ns, const std::function<double(std::uint64_t, int)>& time_of) {
  Calibration calibration(target_ns);
  Search search;
  while (!calibration.done() && search.readings < 200) {
    const double elapsed = time_of(calibration.next_iterations(), search.readings++);
    search.spent_ns += elapsed;
    calibration.add(calibration.next_iterations(), elapsed);
  }
  search.iterations = calibration.iterations();
  return search;
}

TEST(Calibration, ReachesTheTargetWithoutGoingFarBeyond) {
  for (const double per_iteration : {0.3, 7.0, 1e3, 3e5}) {
    const Search search =
        calibrate(1e6, [&](std::uint64_t n, int) { return per_iteration * static_cast<double>(n); });
    const double sample = per_iteration * static_cast<double>(search.iterations);
    EXPECT_GE(sample, 1e6) << per_iteration;
    EXPECT_LE(sample, 1.5e6 + per_iteration) << per_iteration;
    EXPECT_LE(search.readings, 12) << per_iteration;
  }
}

TEST(Calibration, GrowsAtMostTenfold) {
  Calibration calibration(1e9);
  calibration.add(1, 1);
  EXPECT_EQ(calibration.next_iterations(), 10u);
  calibration.add(10, 0);
  EXPECT_EQ(calibration.next_iterations(), 100u);
}

TEST(Calibration, PredictsWithFortyPercentToSpare) {
  Calibration calibration(1000);
  calibration.add(1, 200);
  EXPECT_EQ(calibration.next_iterations(), 7u);
  EXPECT_EQ(calibration.ns_per_iteration(), 200);
}

TEST(Calibration, OnePreemptedReadingDoesNotShortenTheSamples) {
  for (int slow = 0; slow < 8; ++slow) {
    const Search search = calibrate(1e6, [&](std::uint64_t n, int reading) {
      return 10.0 * static_cast<double>(n) + (reading == slow ? 4e6 : 0);
    });
    EXPECT_GE(search.iterations, 100'000u) << slow;
  }
}

TEST(Calibration, TakesOneReadingOfASlowIteration) {
  const Search search = calibrate(1e6, [](std::uint64_t n, int) { return 2e9 * static_cast<double>(n); });
  EXPECT_EQ(search.iterations, 1u);
  EXPECT_EQ(search.readings, 1);
}

TEST(Calibration, ConfirmsAnIterationThatJustReachesTheTarget) {
  const Search search = calibrate(1e6, [](std::uint64_t n, int) { return 3e6 * static_cast<double>(n); });
  EXPECT_EQ(search.iterations, 1u);
  EXPECT_EQ(search.readings, 2);
}

TEST(Calibration, EndsWhereTheClockNeverMoves) {
  for (const double elapsed : {0.0, -5.0, std::nan("")}) {
    const Search search = calibrate(1e6, [&](std::uint64_t, int) { return elapsed; });
    EXPECT_EQ(search.iterations, Calibration::kMaxIterations);
    EXPECT_LE(search.readings, 20);
  }
}

TEST(Calibration, SurvivesExtremeReadings) {
  Calibration fast(1e300);
  fast.add(1, 5e-324);
  EXPECT_EQ(fast.next_iterations(), 10u);
  Calibration slow(1e-300);
  slow.add(1, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(slow.done());
  EXPECT_EQ(slow.iterations(), 1u);
}

TEST(Calibration, KeepsTheFasterOfTheTwoLastReadings) {
  Calibration calibration(1000);
  calibration.add(1, 900);
  calibration.add(2, 2400);
  calibration.add(2, 2000);
  ASSERT_TRUE(calibration.done());
  EXPECT_EQ(calibration.ns_per_iteration(), 1000);
  calibration.add(2, 1);
  EXPECT_EQ(calibration.iterations(), 2u);
}

TEST(Calibration, RefusesNonsense) {
  EXPECT_THROW(Calibration(0), std::invalid_argument);
  EXPECT_THROW(Calibration(-1), std::invalid_argument);
  EXPECT_THROW(Calibration(std::nan("")), std::invalid_argument);
  Calibration calibration(1);
  EXPECT_THROW(calibration.add(0, 1), std::invalid_argument);
}

TEST(SharedIterations, IsTheLargestCountNeeded) {
  const std::vector<CalibratedCase> cases = {{100, 1e4}, {250, 4e3}, {180, 6e3}};
  EXPECT_EQ(shared_iterations(cases, 1e6), 250u);
  EXPECT_EQ(shared_iterations({}, 1e6), 1u);
}

TEST(SharedIterations, KeepsTheSamplesOfASlowSiblingShort) {
  // 1000 iterations would take the slow one 100 targets: 320 take it 32, and the fast one 0.32.
  const std::vector<CalibratedCase> apart = {{1000, 1e3}, {10, 1e5}};
  EXPECT_EQ(shared_iterations(apart, 1e6), 320u);
  // However far apart: an empty body beside one of 10 ms must not ask for minutes of the latter.
  const std::vector<CalibratedCase> far_apart = {{1'000'000, 1}, {1, 1e7}};
  EXPECT_EQ(shared_iterations(far_apart, 1e6), 3u);
  const std::vector<CalibratedCase> farther_apart = {{1'000'000, 1}, {1, 1e9}};
  EXPECT_EQ(shared_iterations(farther_apart, 1e6), 1u);
}

TEST(SharedIterations, OfSlowCasesAloneIsOne) {
  const std::vector<CalibratedCase> cases = {{1, 5e9}, {1, 8e9}};
  EXPECT_EQ(shared_iterations(cases, 1e6), 1u);
}

TEST(Calibration, DoesNotWaitForEverForASetupOfEachIteration) {
  Calibration calibration(1e6);
  for (int readings = 0; !calibration.done() && readings < 20; ++readings) {
    const auto n = static_cast<double>(calibration.next_iterations());
    calibration.add(calibration.next_iterations(), 100 * n, 1e5 * n);  // 100 ns, after a setup of 0.1 ms
  }
  ASSERT_TRUE(calibration.done());
  EXPECT_GE(calibration.iterations(), 50U);
  EXPECT_LE(calibration.iterations(), 100U);
  EXPECT_EQ(calibration.ns_per_iteration(), 100);
  EXPECT_EQ(calibration.waited_ns_per_iteration(), 1e5);
}

TEST(Calibration, OneReadingThatWasWaitedForDoesNotShortenTheSamples) {
  Calibration calibration(1e6);
  for (int readings = 0; !calibration.done() && readings < 20; ++readings) {
    const auto n = static_cast<double>(calibration.next_iterations());
    calibration.add(calibration.next_iterations(), 100 * n, 100 * n + (readings == 2 ? 1e9 : 0));
  }
  EXPECT_GE(calibration.iterations(), 10'000U);
}

}  // namespace
}  // namespace headroom
