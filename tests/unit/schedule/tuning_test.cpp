// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "fake_workers.h"
#include "headroom/schedule/calibration.h"
#include "headroom/schedule/track.h"

namespace headroom {
namespace {

using namespace testing;

/// Choices in memory.
class FakeStore final : public TuningStore {
 public:
  std::map<std::string, std::string> choices;
  std::optional<std::string> chosen(const std::string& key) override {
    const auto found = choices.find(key);
    return found == choices.end() ? std::nullopt : std::optional(found->second);
  }
  void choose(const std::string& key, const std::string& variant) override { choices[key] = variant; }
};

constexpr const char* kKey = "dot a 1 thread cold";

class Tuning : public testing::Test, protected GroupFixture {
 protected:
  Tuning() {
    settings.tuning = &store;
    for (const auto& [variant, ns] : {std::pair{" slow", 3e6}, {" fast", 1e6}, {" middle", 1.1e6}, {"", 5e6}})
      fake(std::string("a") + variant).ns = ns;
  }
  GroupResult run(bool keep_wrong = false) {
    PlannedCase planned = planned_case("a");
    planned.variants = {"slow", "fast", "middle"};
    planned.spec.keep_wrong = keep_wrong;
    return GroupFixture::run({planned});
  }
  FakeStore store;
};

TEST_F(Tuning, TheFastestVariantIsMeasuredAndRemembered) {
  const GroupResult result = run();
  EXPECT_EQ(result.cases[0].planned.spec.variant, "fast");
  EXPECT_EQ(store.choices.at(kKey), "fast");
  ASSERT_FALSE(result.cases[0].readings.empty());
  for (const Reading& reading : result.cases[0].readings) EXPECT_EQ(reading.ns, 1e6);
  EXPECT_EQ(workers.prepared_now(0), 0U) << "all variants are released";
}

TEST_F(Tuning, NoiseThatIsSharedByARoundDoesNotDecide) {
  for (auto& [name, fake] : workers.cases) {
    fake.factor = [](double clock) { return static_cast<long>(clock / 4e7) % 2 == 0 ? 1.0 : 2.0; };
  }
  run();
  EXPECT_EQ(store.choices.at(kKey), "fast");
}

TEST_F(Tuning, OneSlowSampleAtFirstDoesNotDecide) {
  int samples = 0;
  fake("a fast").factor = [&](double) { return ++samples == 1 ? 1.5 : 1.0; };
  run();
  EXPECT_EQ(store.choices.at(kKey), "fast");
}

TEST_F(Tuning, WhatIsFarBehindIsSampledLess) {
  run();
  EXPECT_THAT(workers.count('s', "dot/a slow@0"), Lt(20U)) << "some readings of calibrating, a few rounds";
}

TEST_F(Tuning, ARememberedChoiceIsTakenWithoutLooking) {
  store.choices[kKey] = "middle";
  const GroupResult result = run();
  EXPECT_EQ(result.cases[0].planned.spec.variant, "middle");
  EXPECT_EQ(workers.count('p', "dot/a fast@0"), 0U);
  EXPECT_EQ(workers.count('p', "dot/a middle@0"), 1U);
}

TEST_F(Tuning, AChoiceThatTheRunnerDoesNotHaveIsMadeAnew) {
  store.choices[kKey] = "gone";
  EXPECT_EQ(run().cases[0].planned.spec.variant, "fast");
}

TEST_F(Tuning, AVariantThatDoesNotApplyIsLeftOut) {
  fake("a fast").outcome = {Outcome::Kind::kSkipped, "not on this CPU"};
  EXPECT_EQ(run().cases[0].planned.spec.variant, "middle");
}

TEST_F(Tuning, AVariantThatFailsIsLeftOut) {
  fake("a fast").fails_at = 3;
  EXPECT_EQ(run().cases[0].planned.spec.variant, "middle");
}

TEST_F(Tuning, AWrongVariantIsNotChosenForBeingFastWhereWrongAnswersAreTimed) {
  fake("a fast").wrong = true;
  EXPECT_EQ(run(true).cases[0].planned.spec.variant, "middle");
}

TEST_F(Tuning, WithoutVariantsOrAStoreNothingIsLookedFor) {
  GroupFixture::run("a");
  EXPECT_THAT(store.choices, IsEmpty());
  settings.tuning = nullptr;
  EXPECT_EQ(run().cases[0].planned.spec.variant, "");
  EXPECT_EQ(workers.count('p', "dot/a fast@0"), 0U);
}

TEST_F(Tuning, TooLittleTimeToDecideIsNotRemembered) {
  settings.stop.max_time_ns = 1e6;  // a quarter is less than one round
  settings.sample_ns = 1e5;
  const GroupResult result = run();
  EXPECT_THAT(store.choices, IsEmpty());
  EXPECT_EQ(result.cases[0].planned.spec.variant, "fast") << "the best of what was seen serves this time";
}

TEST_F(Tuning, RoundsThatTakeLongAreGivenTheTimeToDecide) {
  settings.stop.max_time_ns = 4e7;  // a quarter is two rounds
  settings.sample_ns = 1e5;
  run();
  EXPECT_EQ(store.choices.at(kKey), "fast");
}

TEST_F(Tuning, EachFreshProcessTakesTheChosenVariant) {
  settings.processes = 3;
  const GroupResult result = run();
  EXPECT_EQ(workers.count('p', "dot/a fast@0"), 3U);
  EXPECT_EQ(workers.count('p', "dot/a slow@0"), 1U);
  EXPECT_THAT(result.cases[0].pids, SizeIs(3));
}

TEST_F(Tuning, TheSameCaseOfTwoRunnersTakesOneChoice) {
  fake("a fast@1").ns = 9e6;
  std::vector<PlannedCase> planned{planned_case("a"), planned_case("a", 1)};
  for (PlannedCase& one : planned) one.variants = {"slow", "fast"};
  const GroupResult result = GroupFixture::run(planned);
  for (const Track& track : result.cases) EXPECT_EQ(track.planned.spec.variant, "fast");
}

TEST_F(Tuning, TheKeySaysWhatTheChoiceDependsOn) {
  CaseSpec spec;
  spec.experiment = "gemv";
  spec.axes = {{"D", "1024"}, {"dtype", "bf16"}};
  spec.threads = 2;
  spec.caches = Caches::kHot;
  EXPECT_EQ(tuning_key(spec), "gemv D=1024 dtype=bf16 native 2 threads hot");
}

struct Search {
  std::uint64_t iterations = 0;
  int readings = 0;
  double spent_ns = 0;
};

/// On a virtual clock: time_of(iterations, number of the reading).
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
  // 1000 iterations: 100 targets of the slow one; 320: 32.
  const std::vector<CalibratedCase> apart = {{1000, 1e3}, {10, 1e5}};
  EXPECT_EQ(shared_iterations(apart, 1e6), 320u);
  // An empty body must not request minutes of one of 10 ms.
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

/// 20 % drift, and AR(1) noise per case.
RatioEstimate compared(double true_ratio, double sigma, double rho, int processes, std::uint64_t seed) {
  GroupFixture fixture;
  fixture.settings.seed = seed;
  fixture.settings.processes = processes;
  fixture.settings.stop = {.min_time_ns = 0, .max_samples = 90};
  const auto drifting = [&](std::uint64_t noise_seed) {
    return [noise = noise_of(sigma, rho, noise_seed)](double clock_ns) mutable {
      return noise(clock_ns) * (1 + 0.2 * std::sin(clock_ns / 1e8));
    };
  };
  fixture.fake("a") = {.ns = 1e6, .factor = drifting(3 * seed)};
  fixture.fake("b") = {.ns = true_ratio * 1e6, .factor = drifting(3 * seed + 1)};
  const GroupResult result = fixture.run("a", "b");
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

Shared shared_rounds(std::uint64_t seed) {
  GroupFixture fixture;
  fixture.settings.seed = seed;
  fixture.settings.stop = {.precision = 0.01, .min_samples = 12, .max_time_ns = 1e9};
  fixture.fake("a") = {.ns = 5e6, .factor = noise_of(0.003, 0.2, 3 * seed)};
  fixture.fake("b") = {.ns = 5e6, .factor = noise_of(0.003, 0.2, 3 * seed + 1)};
  fixture.fake("c") = {.ns = 5e6, .factor = noise_of(0.06, 0.2, 3 * seed + 2)};
  const GroupResult result = fixture.run("a", "b", "c");
  const Series steady = steady_series(result.cases[1].readings);
  return {result.cases[1].readings.size(), result.cases[2].readings.size(),
          *ratio_of(steady, steady_series(result.cases[0].readings)),
          sampling_half_width(steady).value_or(INFINITY)};
}

TEST(Simulation, RoundsSpendTimeWhereAnIntervalIsWide) {
  const Shared one = shared_rounds(1);
  // Samples are two iterations: 33 rounds of all cases a second.
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
