// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "headroom/compare/verdict.h"
#include "sample_records.h"
#include "synthetic_suite.h"

namespace headroom {
namespace {

using bench::count_regressions;
using bench::GateCounts;
using bench::SuiteModel;
using test::around;
using test::environment_of;
using test::judged;
using test::kRunsAreAlike;
using test::message_of;
using test::record_of;
using testing::HasSubstr;

Comparison judged_pair(double factor, double margin, std::size_t count = 40,
                       Direction direction = Direction::kLowerIsBetter) {
  static Record before, after;
  before = record_of("a", around(100, count));
  after = record_of("a", around(100 * factor, count));
  before.metric.direction = after.metric.direction = direction;
  return judged(before, after, margin);
}

TEST(Judge, SaysWhatTheWholeIntervalSays) {
  EXPECT_EQ(judged_pair(1.10, 0.03).verdict, Verdict::kRegression);
  EXPECT_EQ(judged_pair(0.90, 0.03).verdict, Verdict::kImprovement);
  EXPECT_EQ(judged_pair(1.00, 0.03).verdict, Verdict::kSame);
  EXPECT_EQ(judged_pair(1.03, 0.03).verdict, Verdict::kInconclusive);
}

TEST(Judge, AStepOfRoundingIsNoChange) {
  const auto constant = [](double factor, double margin) {
    Record before = record_of("a", std::vector<double>(40, 100)),
           after = record_of("a", std::vector<double>(40, 100 * factor));
    before.environment = after.environment = environment_of(1, "here");
    const Comparison comparison = judged(before, after, margin, {});
    RoundComparison round{compare_records(before, after), Look::kLast};
    judge_rounds(std::span(&round, 1), margin);
    EXPECT_EQ(round.comparison.verdict, comparison.verdict) << factor;
    EXPECT_EQ(is_significant(round.comparison), is_change(comparison.verdict)) << factor;
    return comparison.verdict;
  };
  const double ulp = std::numeric_limits<double>::epsilon();
  for (const double factor : {1.0, 1 + ulp, 1 - ulp, 1 + 1e-12})
    EXPECT_EQ(constant(factor, 0), Verdict::kSame) << factor;
  EXPECT_EQ(constant(1 + 1e-6, 0), Verdict::kRegression);
  EXPECT_EQ(constant(1 - 1e-6, 0), Verdict::kImprovement);
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
  const Comparison comparison = judged(before, after);
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

struct RunsApart {
  Record before, after;
  Comparison comparison;

  explicit RunsApart(double factor, const RunKnowledge& known = {},
                     Direction direction = Direction::kLowerIsBetter)
      : before(record_of("a", around(100, 10))), after(record_of("a", around(100 * factor, 10))) {
    before.metric.direction = after.metric.direction = direction;
    comparison = judged(before, after, 0.03, known);
  }
  RunsApart(const RunsApart&) = delete;
};

TEST(Judge, AssumesASpreadWhereNobodyKnowsHowFarRunsLieApart) {
  for (const auto& [factor, verdict] : {std::pair{10.0, Verdict::kRegression},
                                        {2.0, Verdict::kRegression},
                                        {1.05, Verdict::kInconclusive},
                                        {1.5, Verdict::kInconclusive},
                                        {1.0, Verdict::kInconclusive},
                                        {1 / 1.05, Verdict::kInconclusive},
                                        {0.5, Verdict::kImprovement},
                                        {0.1, Verdict::kImprovement}}) {
    const RunsApart apart(factor);
    EXPECT_EQ(apart.comparison.verdict, verdict) << factor;
    ASSERT_TRUE(apart.comparison.within_runs) << factor;
    EXPECT_NEAR(apart.comparison.within_runs->low, factor, 0.03 * factor);
    EXPECT_NEAR(apart.comparison.ratio->interval->high / factor, 1.51, 0.02) << "the prior at 95 %";
    EXPECT_EQ(undecided_reason(apart.comparison),
              verdict == Verdict::kInconclusive ? "run-to-run spread assumed up to 16 %" : "");
    EXPECT_TRUE(lacks_run_spread(apart.comparison));
  }
  EXPECT_EQ(RunsApart(2, {}, Direction::kHigherIsBetter).comparison.verdict, Verdict::kImprovement);
  EXPECT_EQ(RunsApart(0.5, {}, Direction::kHigherIsBetter).comparison.verdict, Verdict::kRegression);
}

TEST(Judge, RunsThatDriftDecideByTheirRange) {
  std::vector<double> rising;
  for (int i = 0; i < 10; ++i) rising.push_back(100 + i);
  const auto verdict_of = [&](double factor, std::size_t count) {
    std::vector<double> before(rising.begin(), rising.begin() + static_cast<std::ptrdiff_t>(count)),
        after = before;
    for (double& value : after) value *= factor;
    const Record one = record_of("a", before), other = record_of("a", after);
    return judged(one, other, JudgeRule().margins.overall, {}).verdict;
  };
  EXPECT_EQ(verdict_of(10, 10), Verdict::kRegression);
  EXPECT_EQ(verdict_of(2, 10), Verdict::kRegression);
  EXPECT_EQ(verdict_of(0.1, 6), Verdict::kImprovement);
  EXPECT_EQ(verdict_of(1.4, 10), Verdict::kInconclusive);
  EXPECT_EQ(verdict_of(10, 5), Verdict::kUnderpowered);
}

TEST(Judge, AKnownSpreadReplacesTheAssumedOne) {
  const RunsApart alike(1.05, kRunsAreAlike), wide(2, {RunSpread{0.5, 1000}, std::nullopt, "a test"});
  EXPECT_EQ(alike.comparison.verdict, Verdict::kRegression);
  EXPECT_EQ(wide.comparison.verdict, Verdict::kInconclusive);
  EXPECT_FALSE(alike.comparison.within_runs);
  EXPECT_FALSE(wide.comparison.within_runs);
  EXPECT_EQ(undecided_reason(wide.comparison), "the interval crosses the margin");
}

TEST(Judge, TheAssumedSpreadCountsForTailsToo) {
  Record before = record_of("a", around(100, 300)), after = record_of("a", around(100, 300));
  for (std::size_t i = 0; i < 300; i += 6) after.samples[0].values[i] *= 4;
  std::vector<Comparison> comparisons{compare_records(before, after)};
  judge_tails(comparisons, {{95, 0.05}, {50, 0.05}});
  EXPECT_EQ(comparisons[0].tails[0].verdict, Verdict::kRegression);
  EXPECT_EQ(comparisons[0].tails[1].verdict, Verdict::kInconclusive);
}

TEST(Gate, WithAnAssumedSpreadIsSeldomWrong) {
  constexpr std::size_t kGates = 600;
  using bench::RunTail;
  const double twice = std::exp(2 * run_half_width(kAssumedRunSpread, 1, 1, 0.95));
  for (const RunTail tail : {RunTail::kNormal, RunTail::kStudent, RunTail::kOutliers, RunTail::kSlow}) {
    for (const double spread : {0.005, 0.04, 0.16}) {
      SuiteModel model{.cases = 1,
                       .rounds = 10,
                       .paired = false,
                       .run_noise = std::log1p(spread),
                       .run_tail = tail,
                       .spread_unknown = true};
      // Two standard errors around the table's 5 and 95 %.
      EXPECT_LE(count_regressions(model, 0.03, kGates, 1).any, 0.05 * kGates + 11) << spread;
      model.slowdown = twice - 1;
      EXPECT_GE(count_regressions(model, 0.03, kGates, 1).first, 0.95 * kGates - 11) << spread;
      model.slowdown = 1 / twice - 1;
      EXPECT_GE(count_regressions(model, 0.03, kGates, 1).first_improved, 0.95 * kGates - 11) << spread;
    }
  }
}

TEST(Judge, ChangesOfUnknownDirectionAreChanges) {
  EXPECT_EQ(judged_pair(1.10, 0.03, 40, Direction::kUnknown).verdict, Verdict::kChanged);
  EXPECT_EQ(judged_pair(0.90, 0.03, 40, Direction::kUnknown).verdict, Verdict::kChanged);
  EXPECT_EQ(judged_pair(1.00, 0.03, 40, Direction::kUnknown).verdict, Verdict::kSame);
  const Comparison changed = judged_pair(1.10, 0.03, 40, Direction::kUnknown);
  ASSERT_TRUE(changed.p_value);
  EXPECT_LT(*changed.p_value, 1e-6);
}

TEST(Judge, TheSideThatKnowsItsDirectionDecides) {
  Record before = record_of("a", around(100, 40)), after = record_of("a", around(110, 40));
  before.metric.direction = Direction::kUnknown;
  after.metric.direction = Direction::kHigherIsBetter;
  EXPECT_EQ(judged(before, after).verdict, Verdict::kImprovement);
}

/// Single numbers if `samples` is 0.
Verdict of_counter(double before, double after, Direction direction, std::size_t samples,
                   const std::string& unit = "") {
  Record one = record_of("a", std::vector<double>(samples, before)),
         other = record_of("a", std::vector<double>(samples, after));
  for (Record* record : {&one, &other}) {
    record->metric.name = "allocs";
    record->metric.unit = unit;
    record->metric.direction = direction;
  }
  one.metric.value = before;
  other.metric.value = after;
  const Comparison comparison = judged(one, other);
  EXPECT_FALSE(comparison.ratio);
  return comparison.verdict;
}

TEST(Judge, ZerosHaveAVerdictWithoutARatio) {
  for (const std::size_t samples : {0U, 10U}) {
    EXPECT_EQ(of_counter(0, 0, Direction::kLowerIsBetter, samples), Verdict::kSame);
    EXPECT_EQ(of_counter(0, 0, Direction::kUnknown, samples), Verdict::kSame);
    EXPECT_EQ(of_counter(0, 4, Direction::kLowerIsBetter, samples), Verdict::kRegression);
    EXPECT_EQ(of_counter(4, 0, Direction::kLowerIsBetter, samples), Verdict::kImprovement);
    EXPECT_EQ(of_counter(0, 4, Direction::kHigherIsBetter, samples), Verdict::kImprovement);
    EXPECT_EQ(of_counter(4, 0, Direction::kHigherIsBetter, samples), Verdict::kRegression);
    EXPECT_EQ(of_counter(0, 4, Direction::kUnknown, samples), Verdict::kChanged);
    EXPECT_EQ(of_counter(0, 4, Direction::kLowerIsBetter, samples, "ms"), Verdict::kNotCompared)
        << "a time of 0 is shorter than its clock can tell";
    EXPECT_EQ(of_counter(-1, 4, Direction::kLowerIsBetter, samples), Verdict::kNotCompared);
  }
}

TEST(Judge, ZerosAmongOtherValuesHaveNoVerdict) {
  const Record before = record_of("a", {0, 4, 0, 4, 0, 4}), after = record_of("a", around(4, 6));
  EXPECT_EQ(compare_records(before, after).verdict, Verdict::kNotCompared);
}

TEST(Judge, ARunThatWasDisturbedIsNoEvidence) {
  const Record before = record_of("a", around(100, 40));
  Record after = record_of("a", around(200, 40));
  after.busy_cpus = 1.5;
  const Comparison comparison = judged(before, after);
  EXPECT_EQ(comparison.verdict, Verdict::kInconclusive);
  EXPECT_EQ(comparison.doubts, std::vector<std::string>{"the candidate was busy with other programs"});
  after.busy_cpus = 0;
  after.samples[0].noise.resize(40);
  for (std::size_t i = 0; i < 20; ++i) after.samples[0].noise.set(i, {.involuntary_switches = 2});
  EXPECT_TRUE(compare_records(before, after, kRunsAreAlike).doubts.empty())
      << "it does not show in the times";
  for (std::size_t i = 0; i < 20; ++i) after.samples[0].values[i] *= 1.03;
  EXPECT_EQ(compare_records(before, after, kRunsAreAlike).doubts,
            std::vector<std::string>{"the candidate was preempted by the kernel"});
  for (std::size_t i = 20; i < 40; ++i) after.samples[0].noise.set(i, {.involuntary_switches = 2});
  EXPECT_FALSE(compare_records(before, after, kRunsAreAlike).doubts.empty()) << "none to tell by";
}

TEST(Judge, AllowsForWhatDiffersFromRunToRun) {
  const Record before = record_of("a", around(100, 40)), after = record_of("a", around(102, 40));
  for (const auto& [log_sd, verdict] :
       {std::pair{0.0005, Verdict::kRegression}, {0.01, Verdict::kInconclusive}}) {
    const RunKnowledge known{RunSpread{log_sd, 20}, std::nullopt, "a test"};
    EXPECT_EQ(judged(before, after, JudgeRule().margins.overall, known).verdict, verdict) << log_sd;
  }
}

TEST(Gate, SeldomSaysRegressionWhereNothingDiffers) {
  constexpr std::size_t kSuites = 100;
  // 5 % and three standard errors.
  EXPECT_LE(count_regressions({}, 0, kSuites, 1).any, 11u);
  EXPECT_EQ(count_regressions({}, 0.01, kSuites, 1).any, 0u);
}

TEST(Gate, LearnsFromTheWholeSuiteThatNeighboursAreAlike) {
  // An estimate per case made 12 of 100 suites fail.
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
  // The samples' intervals alone would accuse nearly every suite.
  const SuiteModel model{.paired = false, .run_noise = 0.01, .earlier_runs = 12};
  EXPECT_LE(count_regressions(model, 0.01, kSuites, 1).any, 7u);
  const SuiteModel slow{.slowdown = 0.15, .paired = false, .run_noise = 0.01, .earlier_runs = 12};
  EXPECT_GE(count_regressions(slow, 0.03, kSuites, 1).first, 54u);
}

std::vector<Comparison> with_verdicts(const std::vector<Verdict>& verdicts) {
  std::vector<Comparison> comparisons(verdicts.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    comparisons[i].verdict = verdicts[i];
    const bool compared = verdicts[i] != Verdict::kNotCompared && verdicts[i] != Verdict::kFailed;
    if (compared) comparisons[i].ratio = RatioEstimate{};
  }
  return comparisons;
}

GateResult answer(const std::vector<Verdict>& verdicts, std::size_t missing = 0) {
  return gate_result(with_verdicts(verdicts), missing);
}

TEST(GateResult, IsFineWhereAllAreTheSameOrBetter) {
  EXPECT_EQ(answer({Verdict::kSame, Verdict::kImprovement}).exit, ExitCode::kSuccess);
  EXPECT_EQ(answer({Verdict::kSame}).sentence, "all 1 cases are the same or better");
}

TEST(GateResult, IsNoWhereAnyRegressedWhateverTheOthers) {
  const GateResult found = answer({Verdict::kSame, Verdict::kRegression, Verdict::kInconclusive}, 1);
  EXPECT_EQ(found.exit, ExitCode::kFailure);
  EXPECT_EQ(found.sentence, "1 of 3 cases regressed");
  EXPECT_EQ(found.counts.at(Verdict::kRegression), 1u);
}

TEST(GateResult, IsNoWhereTheTestFails) {
  EXPECT_EQ(answer({Verdict::kSame, Verdict::kFailed}).exit, ExitCode::kFailure);
  EXPECT_EQ(answer({Verdict::kFailed}).exit, ExitCode::kFailure);
}

TEST(GateResult, IsInconclusiveWhereAnyIsUndecided) {
  for (const Verdict verdict :
       {Verdict::kInconclusive, Verdict::kUnderpowered, Verdict::kNoSamples, Verdict::kNotCompared}) {
    EXPECT_EQ(answer({Verdict::kSame, verdict}).exit, ExitCode::kInconclusive) << to_string(verdict);
  }
}

TEST(GateResult, DoesNotGateMetricsOfUnknownDirection) {
  std::vector<Comparison> comparisons =
      with_verdicts({Verdict::kSame, Verdict::kChanged, Verdict::kInconclusive});
  comparisons[1].direction = comparisons[2].direction = Direction::kUnknown;
  const GateResult found = gate_result(comparisons, 0);
  EXPECT_EQ(found.exit, ExitCode::kSuccess);
  EXPECT_THAT(found.sentence, HasSubstr("all 1 cases are the same or better; not gated: 2 (1 changed)"));
  EXPECT_THAT(found.sentence, HasSubstr("--higher-is-better NAME"));
  EXPECT_EQ(gate_result(std::span(comparisons).subspan(1), 0).exit, ExitCode::kInconclusive)
      << "an answer to nothing is no all-clear";
}

TEST(GateResult, ZerosAreCompared) {
  std::vector<Comparison> comparisons = with_verdicts({Verdict::kSame});
  comparisons[0].ratio.reset();
  EXPECT_EQ(gate_result(comparisons, 0).exit, ExitCode::kSuccess);
}

TEST(GateResult, IsInconclusiveWhereCasesAreMissing) {
  EXPECT_EQ(answer({Verdict::kSame}, 2).exit, ExitCode::kInconclusive);
}

TEST(GateResult, CannotSayAnythingOfNothing) {
  EXPECT_EQ(answer({}).exit, ExitCode::kError);
  EXPECT_EQ(answer({Verdict::kNotCompared}).exit, ExitCode::kError);
}

constexpr const char* kFile = R"(margin = "3%"

[[case]]
name = "gemv*"
margin = 0.05

[[case]]
name = "gemv D=10?4"
metric = "lat*"
margin = "10 %"
)";

Record gemv(const std::string& size) {
  Record record = record_of("gemv", {});
  record.axes = {{"D", size}};
  return record;
}

TEST(Margins, LastRuleThatFitsCounts) {
  const GateFile file = parse_gate_file(kFile, "gate.toml");
  ASSERT_TRUE(file.margin);
  const Margins margins{*file.margin, file.rules};
  EXPECT_DOUBLE_EQ(margin_of(margins, record_of("mlp", {})), 0.03);
  EXPECT_DOUBLE_EQ(margin_of(margins, gemv("4096")), 0.05);
  EXPECT_DOUBLE_EQ(margin_of(margins, gemv("1024")), 0.10);
  Record other = gemv("1024");
  other.metric.name = "GFLOP/s";
  EXPECT_DOUBLE_EQ(margin_of(margins, other), 0.05);
}

TEST(ParseMargin, TakesShares) {
  EXPECT_DOUBLE_EQ(parse_margin("3%"), 0.03);
  EXPECT_DOUBLE_EQ(parse_margin("0.5 %"), 0.005);
  EXPECT_DOUBLE_EQ(parse_margin("0"), 0);
}

TEST(ParseMargin, RefusesWhatIsNone) {
  for (const char* text : {"-1%", "100%", "3", "nan", "three", ""}) {
    EXPECT_NE(message_of([&] { parse_margin(text); }), "nothing was thrown") << text;
  }
}

TEST(GateFile, RefusesWithThePlace) {
  const auto refusal = [](const char* text) {
    return message_of([&] { parse_gate_file(text, "gate.toml"); });
  };
  EXPECT_THAT(refusal("margin = [1]"), HasSubstr("gate.toml: line 1, column 10: invalid margin"));
  EXPECT_THAT(refusal("margin = 2.0"), HasSubstr("gate.toml: line 1, column 10: invalid margin '2'"));
  EXPECT_THAT(refusal("[[case]]\nnam = \"x\"\nmargin = 0.1"),
              HasSubstr("unknown key 'nam'; did you mean 'name'"));
  EXPECT_THAT(refusal("[[case]]\nname = \"x\""), HasSubstr("'margin' is missing"));
  EXPECT_THAT(refusal("[case]\nname = \"x\""), HasSubstr("write [[case]], with two brackets"));
  EXPECT_THAT(refusal("margins = 0.1"), HasSubstr("unknown key 'margins'"));
  EXPECT_THAT(refusal("margin = "), HasSubstr("gate.toml: line 1"));
}

struct Commands {
  std::vector<Record> records;
  std::vector<RoundComparison> suite;

  Commands(const std::vector<double>& factors, double noise, std::size_t rounds, Look look = Look::kLast) {
    const auto session = environment_of(1, "here");
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (const double factor : factors) {
      std::vector<double> values;
      for (std::size_t i = 0; i < rounds; ++i) values.push_back(factor * std::exp(noise * normal(random)));
      records.push_back(record_of("c" + std::to_string(records.size()), values));
      records.back().environment = session;
    }
    for (std::size_t i = 1; i < records.size(); ++i) {
      suite.push_back({compare_records(records[0], records[i]), look});
    }
  }
  Commands(const Commands&) = delete;

  const Comparison& judged(double margin = 0.01, std::size_t which = 0) {
    judge_rounds(suite, margin);
    return suite[which].comparison;
  }
};

TEST(JudgeRounds, SaysOnWhichSideOfTheMarginTheIntervalLies) {
  EXPECT_EQ(Commands({1, 1.05}, 0.01, 60).judged().verdict, Verdict::kRegression);
  EXPECT_EQ(Commands({1, 0.95}, 0.01, 60).judged().verdict, Verdict::kImprovement);
  EXPECT_EQ(Commands({1, 1}, 0.001, 60).judged().verdict, Verdict::kSame);
  const Comparison open = Commands({1, 1.0}, 0.03, 40).judged();
  EXPECT_EQ(open.verdict, Verdict::kInconclusive);
  EXPECT_FALSE(is_significant(open));
}

TEST(JudgeRounds, WhatIsToldApartMayBeWithinTheMargin) {
  Commands commands({1, 1.011}, 0.01, 60);
  const Comparison& apart = commands.judged();
  EXPECT_EQ(apart.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(is_significant(apart));
  EXPECT_GT(apart.ratio->interval->low, 1);
  EXPECT_LT(apart.ratio->interval->low, 1.01);
  EXPECT_EQ(commands.judged(0).verdict, Verdict::kRegression) << "without a margin it is one";
}

TEST(JudgeRounds, SixRoundsThatAgreeDecideAndFiveDoNot) {
  EXPECT_EQ(Commands({5, 10}, 1e-4, 6).judged().verdict, Verdict::kRegression);
  EXPECT_EQ(Commands({5, 10}, 1e-4, 5).judged().verdict, Verdict::kUnderpowered);
  EXPECT_EQ(Commands({5, 5}, 1e-4, 6).judged().verdict, Verdict::kSame);
}

TEST(JudgeRounds, ManyComparisonsNeedMoreRounds) {
  EXPECT_EQ(fewest_rounds(0), 6U);
  EXPECT_EQ(fewest_rounds(1), 6U);
  EXPECT_EQ(fewest_rounds(2), 7U);
  EXPECT_EQ(fewest_rounds(8), 9U);
  const std::vector<double> factors{1, 2, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(Commands(factors, 1e-3, 6).judged(0).verdict, Verdict::kUnderpowered);
  EXPECT_EQ(Commands(factors, 1e-3, 9).judged(0).verdict, Verdict::kRegression);
}

TEST(JudgeRounds, ALookThatEndedSamplingHasATenthOfTheErrors) {
  EXPECT_EQ(Commands({5, 10}, 1e-4, 6, Look::kRunning).judged().verdict, Verdict::kUnderpowered);
  EXPECT_EQ(Commands({5, 10}, 1e-4, 20, Look::kRunning).judged().verdict, Verdict::kRegression);
}

TEST(JudgeRounds, LeavesAloneWhatIsNotOfOneSession) {
  Commands commands({1, 2}, 0.01, 20);
  commands.records[1].environment = environment_of(2, "here");
  commands.suite[0].comparison = compare_records(commands.records[0], commands.records[1]);
  EXPECT_EQ(commands.judged().estimator, Estimator::kUnpaired);
  EXPECT_EQ(commands.judged().verdict, Verdict::kInconclusive);
  judge_rounds({}, 0.01);
}

TEST(RoundGateResult, AFailureCountsBeforeAGapAndAGapBeforeADoubt) {
  using Outcomes = std::vector<std::optional<GateOutcome>>;
  constexpr auto kPassed = GateOutcome::kPassed, kRegressed = GateOutcome::kRegressed,
                 kFailed = GateOutcome::kFailed, kOpen = GateOutcome::kOpen;
  const auto answer = [](const Outcomes& outcomes) {
    return round_gate_result(outcomes, 0.03, {"slower", "not compared", "; try again"});
  };
  EXPECT_EQ(answer({kPassed, std::nullopt, kOpen, kRegressed, kFailed}).sentence,
            "1 of 5 slower by more than 3 %, 1 failed");
  EXPECT_EQ(answer({kPassed, kFailed}).exit, ExitCode::kFailure);
  EXPECT_EQ(answer({kPassed, kOpen, std::nullopt}).exit, ExitCode::kError);
  EXPECT_EQ(answer({kPassed, kOpen, std::nullopt}).sentence, "1 of 3 not compared");
  EXPECT_EQ(answer({}).exit, ExitCode::kError);
  EXPECT_EQ(answer({kPassed, kOpen}).exit, ExitCode::kInconclusive);
  EXPECT_EQ(answer({kPassed, kOpen}).sentence,
            "inconclusive: 1 of 2 may be slower by more than 3 %; try again");
  EXPECT_EQ(answer({kPassed, kPassed}).exit, ExitCode::kSuccess);
}

TEST(JudgeRounds, ManyEqualCommandsAreNotToldApart) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Commands commands(std::vector<double>(9, 1), 0, 30);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (Record& record : commands.records) {
      for (double& value : record.samples[0].values) value = std::exp(0.01 * normal(random));
    }
    judge_rounds(commands.suite, 0);
    for (const RoundComparison& one : commands.suite) {
      if (is_significant(one.comparison)) {
        ++alarms;
        break;
      }
    }
  }
  EXPECT_LE(alarms, 200 * 0.08);
}

}  // namespace
}  // namespace headroom
