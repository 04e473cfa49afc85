// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/verdict.h"

#include <gtest/gtest.h>

#include "sample_records.h"
#include "synthetic_suite.h"

namespace headroom {
namespace {

using bench::count_regressions;
using bench::GateCounts;
using bench::SuiteModel;
using test::around;
using test::record_of;

/// As if a thousand runs had shown no difference.
const RunKnowledge kRunsAreAlike{RunSpread{0, 1000}, std::nullopt, "a test"};

/// The verdict on one case of which the test takes `factor` times as long, with `count` samples.
Comparison judged_pair(double factor, double margin, std::size_t count = 40,
                       Direction direction = Direction::kLowerIsBetter) {
  static Record before, after;
  before = record_of("a", around(100, count));
  after = record_of("a", around(100 * factor, count));
  before.metric.direction = after.metric.direction = direction;
  Comparison comparison = compare_records(before, after, kRunsAreAlike);
  JudgeRule rule;
  rule.margins.overall = margin;
  judge(std::span(&comparison, 1), rule);
  return comparison;
}

TEST(Judge, SaysWhatTheWholeIntervalSays) {
  EXPECT_EQ(judged_pair(1.10, 0.03).verdict, Verdict::kRegression);
  EXPECT_EQ(judged_pair(0.90, 0.03).verdict, Verdict::kImprovement);
  EXPECT_EQ(judged_pair(1.00, 0.03).verdict, Verdict::kSame);
  EXPECT_EQ(judged_pair(1.03, 0.03).verdict, Verdict::kInconclusive);
}

TEST(Judge, GivesClaimsAPValue) {
  const Comparison clear = judged_pair(1.10, 0.03), none = judged_pair(1.00, 0.03);
  ASSERT_TRUE(clear.p_value);
  EXPECT_LT(*clear.p_value, 1e-6);
  EXPECT_FALSE(none.p_value);
}

TEST(Judge, KnowsWhichWayIsWorse) {
  EXPECT_EQ(judged_pair(1.10, 0.03, 40, Direction::kHigherIsBetter).verdict, Verdict::kImprovement);
  EXPECT_EQ(judged_pair(0.90, 0.03, 40, Direction::kHigherIsBetter).verdict, Verdict::kRegression);
}

TEST(Judge, CallsFewSamplesUnderpoweredNeverTheSame) {
  EXPECT_EQ(judged_pair(1.00, 0.03, 5).verdict, Verdict::kUnderpowered);
  EXPECT_EQ(judged_pair(2.00, 0.03, 5).verdict, Verdict::kUnderpowered);
}

TEST(Judge, NeedsMoreSamplesForMoreCases) {
  // 2^-8 is under .05 but not under .05/50.
  const bench::SyntheticSuite suite({.cases = 50, .rounds = 8, .noise = 0.0001}, 1);
  EXPECT_EQ(suite.judged(0.01).front().verdict, Verdict::kUnderpowered);
  const bench::SyntheticSuite small({.cases = 1, .rounds = 8, .noise = 0.0001}, 1);
  EXPECT_EQ(small.judged(0.01).front().verdict, Verdict::kSame);
}

TEST(Judge, WithdrawsClaimsThatDoNotSurviveTheCorrection) {
  // With a noise of 1 % and a slowdown of 1.2 %, one case alone is found now and then, one of 50 hardly ever.
  std::size_t alone = 0, among = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const bench::SyntheticSuite one({.cases = 1, .rounds = 20, .slowdown = 0.012}, seed);
    const bench::SyntheticSuite many({.cases = 50, .rounds = 20, .slowdown = 0.012}, seed);
    if (one.judged(0).front().verdict == Verdict::kRegression) ++alone;
    if (many.judged(0).front().verdict == Verdict::kRegression) ++among;
  }
  EXPECT_GT(alone, 20u);
  EXPECT_LT(among, 20u);
}

TEST(Judge, LeavesLoneNumbersAlone) {
  Record before = record_of("a", {}), after = record_of("a", {});
  before.metric.value = 1;
  after.metric.value = 10;
  Comparison comparison = compare_records(before, after);
  judge(std::span(&comparison, 1), {});
  EXPECT_EQ(comparison.verdict, Verdict::kNoSamples);
  EXPECT_FALSE(comparison.p_value);
}

TEST(Judge, HoldsAtTheMarginOfTheCase) {
  const Record before = record_of("a", around(100, 40)), after = record_of("a", around(104, 40));
  Comparison comparison = compare_records(before, after, kRunsAreAlike);
  JudgeRule rule;
  rule.margins.rules = {{"a", "*", 0.10}};
  judge(std::span(&comparison, 1), rule);
  EXPECT_DOUBLE_EQ(comparison.margin, 0.10);
  EXPECT_EQ(comparison.verdict, Verdict::kSame);
}

TEST(Judge, ClaimsNothingWhereNobodyKnowsHowFarRunsLieApart) {
  const Record before = record_of("a", around(100, 40)), after = record_of("a", around(200, 40));
  Comparison comparison = compare_records(before, after);
  judge(std::span(&comparison, 1), {});
  EXPECT_EQ(comparison.verdict, Verdict::kInconclusive);
  ASSERT_EQ(comparison.doubts.size(), 1U);
  EXPECT_NE(comparison.doubts[0].find("too few runs"), std::string::npos);
}

TEST(Judge, ARunThatWasDisturbedIsNoEvidence) {
  const Record before = record_of("a", around(100, 40));
  Record after = record_of("a", around(200, 40));
  after.busy_cpus = 1.5;
  Comparison comparison = compare_records(before, after, kRunsAreAlike);
  judge(std::span(&comparison, 1), {});
  EXPECT_EQ(comparison.verdict, Verdict::kInconclusive);
  EXPECT_EQ(comparison.doubts, std::vector<std::string>{"the test was busy with other programs"});
  after.busy_cpus = 0;
  after.samples[0].noise.resize(40);
  for (std::size_t i = 0; i < 20; ++i) after.samples[0].noise.set(i, {.involuntary_switches = 2});
  EXPECT_TRUE(compare_records(before, after, kRunsAreAlike).doubts.empty())
      << "it does not show in the times";
  for (std::size_t i = 0; i < 20; ++i) after.samples[0].values[i] *= 1.03;
  EXPECT_EQ(compare_records(before, after, kRunsAreAlike).doubts,
            std::vector<std::string>{"the test was preempted by the kernel"});
  for (std::size_t i = 20; i < 40; ++i) after.samples[0].noise.set(i, {.involuntary_switches = 2});
  EXPECT_FALSE(compare_records(before, after, kRunsAreAlike).doubts.empty()) << "none to tell by";
}

TEST(Judge, AllowsForWhatDiffersFromRunToRun) {
  const Record before = record_of("a", around(100, 40)), after = record_of("a", around(102, 40));
  for (const auto& [log_sd, verdict] :
       {std::pair{0.0005, Verdict::kRegression}, {0.01, Verdict::kInconclusive}}) {
    Comparison comparison = compare_records(before, after, {RunSpread{log_sd, 20}, std::nullopt, "a test"});
    judge(std::span(&comparison, 1), {});
    EXPECT_EQ(comparison.verdict, verdict) << log_sd;
  }
}

// bench_gate_false_alarms counts the same over thousands of suites, and more kinds of noise.
TEST(Gate, SeldomSaysRegressionWhereNothingDiffers) {
  constexpr std::size_t kSuites = 100;
  // 5 % and three standard errors.
  EXPECT_LE(count_regressions({}, 0, kSuites, 1).any, 11u);
  EXPECT_EQ(count_regressions({}, 0.01, kSuites, 1).any, 0u);
}

TEST(Gate, LearnsFromTheWholeSuiteThatNeighboursAreAlike) {
  // By itself each case of 30 rounds knows too little of it: 12 of 100 suites were wrong.
  const SuiteModel model{.rounds = 30, .correlation = 0.5};
  EXPECT_LE(count_regressions(model, 0, 100, 1).any, 5u);
}

TEST(Gate, FindsOneSlowCaseOfFifty) {
  constexpr std::size_t kSuites = 60;
  const GateCounts counts = count_regressions({.slowdown = 0.03}, 0.005, kSuites, 1);
  EXPECT_GE(counts.first, 57u);
  EXPECT_LE(counts.any - counts.first, 1u);
}

TEST(Gate, KnowsOfWhatDiffersFromRunToRun) {
  constexpr std::size_t kSuites = 60;
  // With 1 % between runs, intervals of the samples alone accuse nearly every suite of 50 cases.
  const SuiteModel model{.paired = false, .run_noise = 0.01, .earlier_runs = 12};
  EXPECT_LE(count_regressions(model, 0.01, kSuites, 1).any, 7u);
  const SuiteModel slow{.slowdown = 0.15, .paired = false, .run_noise = 0.01, .earlier_runs = 12};
  EXPECT_GE(count_regressions(slow, 0.03, kSuites, 1).first, 54u);
}

}  // namespace
}  // namespace headroom
