// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fake_workers.h"
#include "headroom/schedule/series.h"

namespace headroom {
namespace {

/// The ratio of b to a on a machine that drifts by 20 % and gives each case AR(1) noise of its own.
RatioEstimate compared(double true_ratio, double sigma, double rho, int processes, std::uint64_t seed) {
  GroupFixture fixture(1);
  fixture.settings.seed = seed;
  fixture.settings.processes = processes;
  fixture.settings.stop = {.min_time_ns = 0, .max_samples = 90};
  const auto drifting = [&](std::uint64_t noise_seed) {
    return [noise = noise_of(sigma, rho, noise_seed)](double clock_ns) mutable {
      return noise(clock_ns) * (1 + 0.2 * std::sin(clock_ns / 1e8));
    };
  };
  fixture.workers.cases["dot/a@0"] = {.ns = 1e6, .factor = drifting(3 * seed)};
  fixture.workers.cases["dot/b@0"] = {.ns = true_ratio * 1e6, .factor = drifting(3 * seed + 1)};
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b")});
  return *ratio_of(steady_series(result.cases[1].readings), steady_series(result.cases[0].readings));
}

int flagged(double true_ratio, double sigma, double rho, int processes, int runs) {
  int count = 0;
  for (int run = 0; run < runs; ++run) {
    const RatioEstimate ratio =
        compared(true_ratio, sigma, rho, processes, static_cast<std::uint64_t>(run) + 1);
    if (ratio.interval && !ratio.interval->contains(1)) ++count;
  }
  return count;
}

struct Shared {
  std::size_t steady = 0, noisy = 0;  ///< samples
  RatioEstimate ratio;
  double steady_half_width = 0;
};

/// A baseline and a case with noise of .3 %, and one with 6 %, as many rounds as fit into a second.
Shared shared_rounds(std::uint64_t seed) {
  GroupFixture fixture(1);
  fixture.settings.seed = seed;
  fixture.settings.stop = {.precision = 0.01, .min_samples = 12, .max_time_ns = 1e9};
  fixture.workers.cases["dot/a@0"] = {.ns = 5e6, .factor = noise_of(0.003, 0.2, 3 * seed)};
  fixture.workers.cases["dot/b@0"] = {.ns = 5e6, .factor = noise_of(0.003, 0.2, 3 * seed + 1)};
  fixture.workers.cases["dot/c@0"] = {.ns = 5e6, .factor = noise_of(0.06, 0.2, 3 * seed + 2)};
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b"), planned_case("c")});
  const Series steady = steady_series(result.cases[1].readings);
  return {result.cases[1].readings.size(), result.cases[2].readings.size(),
          *ratio_of(steady, steady_series(result.cases[0].readings)),
          sampling_half_width(steady).value_or(INFINITY)};
}

TEST(Simulation, RoundsSpendTimeWhereAnIntervalIsWide) {
  const Shared one = shared_rounds(1);
  // Samples are two iterations: 33 rounds fit into a second where each case is in all of them.
  EXPECT_GE(one.noisy, 37U);
  EXPECT_LT(one.steady, one.noisy * 3 / 4);
  EXPECT_EQ(one.ratio.pairs, one.steady) << "each of its samples has its pair";
}

TEST(Simulation, ACaseThatIsSampledLessOftenHasTheSameIntervals) {
  int covered = 0, precise = 0;
  double sum = 0;
  constexpr int kRuns = 60;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    const Shared one = shared_rounds(seed);
    covered += one.ratio.interval && one.ratio.interval->contains(1) ? 1 : 0;
    precise += one.steady_half_width <= 0.01 ? 1 : 0;
    sum += std::log(one.ratio.ratio);
  }
  EXPECT_GE(covered, 53) << "of the ratio to the baseline, which is 1";
  EXPECT_EQ(precise, kRuns);
  EXPECT_NEAR(sum / kRuns, 0, 3e-4);
}

TEST(Simulation, ACaseAgainstItselfIsSeldomFlagged) {
  EXPECT_LE(flagged(1, 0.02, 0.4, 1, 60), 5);
  EXPECT_LE(flagged(1, 0.02, 0.4, 3, 60), 5);
}

TEST(Simulation, ADifferenceOfThreePercentIsFound) {
  EXPECT_GE(flagged(1.03, 0.01, 0.2, 1, 60), 54);
  EXPECT_GE(flagged(1.03, 0.01, 0.2, 3, 60), 54);
}

}  // namespace
}  // namespace headroom
