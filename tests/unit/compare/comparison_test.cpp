// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "headroom/compare/compared_ratio.h"
#include "headroom/compare/comparison.h"
#include "headroom/compare/environment_differences.h"
#include "headroom/compare/match.h"
#include "sample_records.h"

namespace headroom {
namespace {

using test::around;
using test::environment_of;
using test::message_of;
using test::record_of;
using namespace testing;

std::pair<Record, Record> drifting_session() {
  std::vector<double> before, after;
  for (std::size_t i = 0; i < 30; ++i) {
    before.push_back(100 + 2.0 * static_cast<double>(i));
    after.push_back(before.back() * (1.02 + 0.0002 * static_cast<double>((i * 7) % 11)));
  }
  std::pair<Record, Record> sides{record_of("a", before), record_of("a", after)};
  sides.first.environment = environment_of(5, "machine");
  sides.second.environment = environment_of(5, "machine");
  return sides;
}

TEST(CompareRecords, PairsTheRoundsOfOneSession) {
  const auto [before, after] = drifting_session();
  const Comparison comparison = compare_records(before, after);
  EXPECT_EQ(comparison.estimator, Estimator::kPaired);
  EXPECT_EQ(comparison.samples, 30u);
  ASSERT_TRUE(comparison.ratio && comparison.ratio->interval);
  EXPECT_NEAR(comparison.ratio->ratio, 1.021, 0.001);
  EXPECT_LT(comparison.ratio->interval->high - comparison.ratio->interval->low, 0.003);
}

TEST(CompareRecords, DoesNotPairTwoSessions) {
  auto [before, after] = drifting_session();
  after.environment = environment_of(6, "machine");
  const Comparison comparison = compare_records(before, after);
  EXPECT_EQ(comparison.estimator, Estimator::kUnpaired);
}

TEST(CompareRecords, OfSeparateRunsReachesAsFarAsRunsMayDiffer) {
  const Record before = record_of("a", around(100, 40)), after = record_of("a", around(102, 40));
  const RunSpread spread{0.1, 20};
  const Comparison comparison = compare_records(before, after, {spread, std::nullopt, "a test"});
  ASSERT_TRUE(comparison.ratio && comparison.ratio->interval);
  const double ratio = comparison.ratio->ratio, half = run_half_width(spread, 1, 1, kRatioConfidence);
  EXPECT_NEAR(std::log(comparison.ratio->interval->low / ratio), -half, 1e-9);
  EXPECT_NEAR(std::log(comparison.ratio->interval->high / ratio), half, 1e-9);
}

TEST(CompareRecords, PairsByRoundWhereSomeAreMissing) {
  auto [before, after] = drifting_session();
  after.samples[0].values.erase(after.samples[0].values.begin(), after.samples[0].values.begin() + 4);
  after.samples[0].rounds.erase(after.samples[0].rounds.begin(), after.samples[0].rounds.begin() + 4);
  const Comparison comparison = compare_records(before, after);
  EXPECT_EQ(comparison.samples, 26u);
  EXPECT_NEAR(comparison.ratio->ratio, 1.021, 0.001);
}

TEST(CompareRecords, LeavesWarmUpOut) {
  Record before = record_of("a", around(100, 20)), after = record_of("a", around(100, 20));
  after.samples[0].values[0] = 1e9;
  after.samples[0].values[1] = 1e9;
  after.samples[0].warmup = 2;
  EXPECT_EQ(compare_records(before, after).samples, 18u);
  EXPECT_NEAR(compare_records(before, after).ratio->ratio, 1, 0.01);
}

TEST(CompareRecords, ConvertsTheTestToTheUnitOfTheBaseline) {
  Record after = record_of("a", around(0.1, 20));
  after.metric.unit = "ms";
  const Comparison comparison = compare_records(record_of("a", around(100, 20)), after);
  EXPECT_EQ(comparison.unit, "us");
  EXPECT_NEAR(comparison.test_value, 100, 1);
  EXPECT_NEAR(comparison.ratio->ratio, 1, 1e-9);
}

TEST(CompareRecords, RefusesUnitsThatDoNotConvert) {
  Record before = record_of("a", around(100, 20)), after = record_of("a", around(100, 20));
  after.metric.unit = "tokens/s";
  const Comparison comparison = compare_records(before, after);
  EXPECT_EQ(comparison.verdict, Verdict::kNotCompared);
  EXPECT_THAT(comparison.problem, HasSubstr("in 'us', the candidate in 'tokens/s'"));
}

TEST(CompareRecords, OfLoneNumbersClaimsNothing) {
  Record before = record_of("a", {}), after = record_of("a", {});
  before.metric.value = 10;
  after.metric.value = 20;
  const Comparison comparison = compare_records(before, after);
  EXPECT_EQ(comparison.verdict, Verdict::kNoSamples);
  EXPECT_DOUBLE_EQ(comparison.ratio->ratio, 2);
  EXPECT_FALSE(comparison.ratio->interval);
  EXPECT_EQ(comparison.estimator, Estimator::kNone);
}

TEST(CompareRecords, HasNoRatioOfValuesThatAreNotPositive) {
  Record zeros = record_of("a", around(100, 20));
  zeros.samples[0].values[3] = 0;
  zeros.samples[0].values[4] = std::numeric_limits<double>::quiet_NaN();
  const Record good = record_of("a", around(100, 20));
  EXPECT_THAT(compare_records(good, zeros).problem,
              HasSubstr("2 of 20 values of the candidate are zero, negative"));
  EXPECT_THAT(compare_records(zeros, good).problem, HasSubstr("2 of 20 values of the baseline"));
  EXPECT_FALSE(compare_records(good, zeros).ratio);
}

TEST(CompareRecords, TellsAFailedTestFromASkippedOne) {
  const Record good = record_of("a", around(100, 20));
  Record bad = record_of("a", {});
  bad.outcome = {Outcome::Kind::kFailed, "killed by signal 9"};
  EXPECT_EQ(compare_records(good, bad).verdict, Verdict::kFailed);
  EXPECT_EQ(compare_records(good, bad).problem, "the candidate failed: killed by signal 9");
  EXPECT_EQ(compare_records(bad, good).verdict, Verdict::kNotCompared);
  bad.outcome = {Outcome::Kind::kSkipped, "no such dtype"};
  EXPECT_EQ(compare_records(good, bad).verdict, Verdict::kNotCompared);
}

TEST(CompareRecords, AdvisesOnMorePairs) {
  const Comparison few = compare_records(record_of("a", {1, 2, 3}), record_of("a", {1, 2, 3}));
  EXPECT_EQ(few.more_pairs, 3u) << "six have an interval";
  std::vector<double> wide = around(100, 20);
  for (double& value : wide) value = 100 + 8 * (value - 100);
  const Comparison many = compare_records(record_of("a", wide), record_of("a", wide));
  const Interval& interval = *many.within_runs;
  const double ratio = 0.5 * std::log(interval.high / interval.low) / std::log(1.01);
  EXPECT_NEAR(static_cast<double>(many.more_pairs), 20 * (ratio * ratio - 1), 1);
}

TEST(Worsening, TurnsMetricsOfWhichMoreIsBetter) {
  const RatioEstimate turned = worsening({0.8, Interval{0.5, 0.9, 0.95}, 9}, Direction::kHigherIsBetter);
  EXPECT_DOUBLE_EQ(turned.ratio, 1.25);
  EXPECT_DOUBLE_EQ(turned.interval->low, 1 / 0.9);
  EXPECT_DOUBLE_EQ(turned.interval->high, 2);
}

TEST(MeanWorsening, CoversWhatHasARatioOnly) {
  std::vector<Comparison> comparisons(3);
  Record higher = record_of("a", {});
  higher.metric.direction = Direction::kHigherIsBetter;
  const Record lower = record_of("b", {});
  comparisons[0].baseline = &lower;
  comparisons[0].ratio = RatioEstimate{2, std::nullopt, 0};
  comparisons[1].baseline = &higher;
  comparisons[1].direction = Direction::kHigherIsBetter;
  comparisons[1].ratio = RatioEstimate{0.125, std::nullopt, 0};
  comparisons[2].baseline = &lower;
  EXPECT_DOUBLE_EQ(mean_worsening(comparisons).value().mean, 4);
  EXPECT_EQ(mean_worsening(comparisons)->cases, 2U);
  comparisons[1].test_index = 1;
  EXPECT_DOUBLE_EQ(mean_worsening(comparisons)->mean, 2);
  EXPECT_DOUBLE_EQ(mean_worsening(comparisons, 1)->mean, 8);
  EXPECT_FALSE(mean_worsening({}, 0));
}

TEST(PairedSeries, UsesTheProcessWhereRoundsBeginAnew) {
  Record a = record_of("a", {1, 2}), b = record_of("a", {10, 20});
  a.environment = b.environment = environment_of(1, "m");
  a.samples.push_back(a.samples[0]);
  a.samples[1].values = {3, 4};
  b.samples.push_back(b.samples[0]);
  b.samples[1].values = {30, 40};
  const auto pairs = paired_series(a, b);
  ASSERT_TRUE(pairs);
  EXPECT_EQ(pairs->b, (std::vector<double>{10, 20, 30, 40}));
  EXPECT_EQ(pairs->group_sizes, (std::vector<std::size_t>{2, 2}));
}

Record with_runner(Record record, const std::string& runner) {
  record.runner = runner;
  return record;
}

TEST(MatchRecords, GoesByIdentityNotByPosition) {
  const std::vector<Record> baseline{record_of("a", {1}), record_of("b", {2}), record_of("gone", {3})};
  const std::vector<Record> test{record_of("new", {4}), record_of("b", {5}), record_of("a", {6})};
  const Matches matches = match_records(baseline, test);
  ASSERT_EQ(matches.pairs.size(), 2u);
  EXPECT_EQ(matches.pairs[0].second, &test[2]);
  EXPECT_EQ(matches.pairs[1].second, &test[1]);
  EXPECT_THAT(matches.only_baseline, ElementsAre(&baseline[2]));
  EXPECT_THAT(matches.only_test, ElementsAre(&test[0]));
}

TEST(MatchRecords, TellsAxesApart) {
  std::vector<Record> baseline{record_of("a", {1})}, test{record_of("a", {1})};
  baseline[0].axes = {{"D", "1"}};
  test[0].axes = {{"D", "2"}};
  EXPECT_TRUE(match_records(baseline, test).pairs.empty());
}

TEST(MatchRecords, TellsTypesOfAxesApart) {
  const auto of = [](const AxisValue& value) {
    Record record = record_of("a", {1});
    record.axes = {{"shuffle", value}};
    return record;
  };
  const std::vector<Record> types{of(true), of(AxisValue("True", AxisType::kText)), of(false), of("0"),
                                  of(AxisValue("0", AxisType::kText))};
  const std::vector<Record> reversed(types.rbegin(), types.rend());
  const Matches matches = match_records(types, reversed);
  EXPECT_EQ(matches.pairs.size(), types.size());
  for (const auto& [baseline, test] : matches.pairs) EXPECT_EQ(baseline->axes, test->axes);
  EXPECT_TRUE(match_records({types[0]}, {types[1]}).pairs.empty());
  EXPECT_TRUE(match_records({types[3]}, {types[4]}).pairs.empty());
  EXPECT_EQ(match_records({of("True")}, {types[0]}).pairs.size(), 1u) << "as older headrooms stored it";
}

TEST(MatchRecords, AnotherToolsSettingsMatchThoseThatAFileSharesOrLacks) {
  const auto of_tool = [](const AxisValues& axes, const StringMap& shared) {
    Record record = record_of("m", {1});
    auto environment = std::make_shared<Environment>();
    environment->extra_info = shared;
    record.benchmark.name = "llama-bench";
    record.axes = axes;
    record.environment = environment;
    return record;
  };
  const std::vector<Record> old{of_tool({}, {{"n_batch", "64"}})};
  const std::vector<Record> sweep{of_tool({{"n_batch", "64"}, {"n_cpu_moe", "0"}}, {}),
                                  of_tool({{"n_batch", "64"}, {"n_cpu_moe", "40"}}, {}),
                                  of_tool({{"n_batch", "32"}, {"n_cpu_moe", "0"}}, {})};
  for (const Matches& matches : {match_records(old, sweep), match_records(sweep, old)}) {
    ASSERT_EQ(matches.pairs.size(), 1u);
    const auto [baseline, test] = matches.pairs[0];
    EXPECT_TRUE(baseline == &sweep[0] || test == &sweep[0]);
  }
  const std::vector<Record> offloaded{of_tool({{"n_batch", "64"}, {"n_cpu_moe", "40"}}, {})};
  EXPECT_TRUE(match_records(old, offloaded).pairs.empty());
}

TEST(MatchRecords, TakesAnyRunnerWhereThereIsOne) {
  const std::vector<Record> baseline{with_runner(record_of("a", {1}), "old-build")};
  const std::vector<Record> test{with_runner(record_of("a", {2}), "new-build")};
  EXPECT_EQ(match_records(baseline, test).pairs.size(), 1u);
}

TEST(MatchRecords, KeepsSeveralRunnersOfOneCaseApart) {
  const std::vector<Record> baseline{with_runner(record_of("a", {1}), "x"),
                                     with_runner(record_of("a", {1}), "y")};
  const std::vector<Record> test{with_runner(record_of("a", {2}), "y")};
  const Matches matches = match_records(baseline, test);
  ASSERT_EQ(matches.pairs.size(), 1u);
  EXPECT_EQ(matches.pairs[0].first, &baseline[1]);
  EXPECT_THAT(matches.only_baseline, ElementsAre(&baseline[0]));
}

TEST(JoinDuplicates, AppendsSamplesAsFurtherProcesses) {
  const JoinedRecords joined =
      join_duplicates({record_of("a", {1, 2, 3}), record_of("b", {9}), record_of("a", {5, 6})});
  ASSERT_EQ(joined.records.size(), 2u);
  EXPECT_EQ(joined.records[0].samples.size(), 2u);
  EXPECT_DOUBLE_EQ(joined.records[0].metric.value, 3);
  EXPECT_TRUE(joined.records[0].samples[0].rounds.empty()) << "rounds of two runs are no pairs";
  ASSERT_EQ(joined.notes.size(), 1u);
  EXPECT_THAT(joined.notes[0], HasSubstr("joined 2 runs of 1 result"));
}

TEST(JoinDuplicates, MakesSamplesOfLoneNumbers) {
  std::vector<Record> records;
  for (const double value : {3.0, 1.0, 2.0}) {
    records.push_back(record_of("a", {}));
    records.back().metric.value = value;
  }
  const JoinedRecords joined = join_duplicates(records);
  ASSERT_EQ(joined.records.size(), 1u);
  EXPECT_EQ(joined.records[0].samples.size(), 3u);
  EXPECT_DOUBLE_EQ(joined.records[0].metric.value, 2);
}

TEST(JoinDuplicates, PrefersSamplesToLoneNumbersAndSaysSo) {
  const JoinedRecords joined = join_duplicates({record_of("a", {}), record_of("a", {4, 5, 6})});
  ASSERT_EQ(joined.records.size(), 1u);
  EXPECT_EQ(joined.records[0].samples.size(), 1u);
  ASSERT_EQ(joined.notes.size(), 1u);
  EXPECT_THAT(joined.notes[0], HasSubstr("left out 1 result without samples"));
}

TEST(JoinDuplicates, PrefersMeasuredToFailed) {
  Record failed = record_of("a", {});
  failed.outcome = {Outcome::Kind::kFailed, "killed"};
  const JoinedRecords joined = join_duplicates({failed, record_of("a", {4})});
  ASSERT_EQ(joined.records.size(), 1u);
  EXPECT_EQ(joined.records[0].outcome.kind, Outcome::Kind::kMeasured);
  EXPECT_THAT(joined.notes, ElementsAre(HasSubstr("left out 1 run without a result")));
  EXPECT_THAT(join_duplicates({failed, failed}).notes, ElementsAre(HasSubstr("2 runs without a result")));
  EXPECT_THAT(join_duplicates({failed, record_of("b", {1}), record_of("b", {2})}).notes,
              ElementsAre(HasSubstr("joined 2 runs of 1 result")));
}

TEST(JoinDuplicates, ConvertsUnits) {
  Record in_ms = record_of("a", {0.003});
  in_ms.metric.unit = "ms";
  const JoinedRecords joined = join_duplicates({record_of("a", {1}), in_ms});
  EXPECT_EQ(joined.records[0].metric.unit, "us");
  EXPECT_DOUBLE_EQ(joined.records[0].metric.value, 2);
}

TEST(JoinDuplicates, RefusesUnitsThatDoNotConvert) {
  Record other = record_of("a", {1});
  other.metric.unit = "GB/s";
  EXPECT_THAT(message_of([&] {
                join_duplicates({record_of("a", {1}), other});
              }),
              HasSubstr("a (native, latency): units 'us' and 'GB/s'"));
}

TEST(UnitFactor, ConvertsWhatMeasuresTheSame) {
  EXPECT_DOUBLE_EQ(unit_factor("ms", "us").value(), 1e3);
  EXPECT_DOUBLE_EQ(unit_factor("us", "s").value(), 1e-6);
  EXPECT_DOUBLE_EQ(unit_factor("µs", "us").value(), 1);
  EXPECT_DOUBLE_EQ(unit_factor("MiB", "KB").value(), 1048.576);
  EXPECT_DOUBLE_EQ(unit_factor("GB/s", "MB/s").value(), 1e3);
  EXPECT_DOUBLE_EQ(unit_factor("GFLOP/s", "GOP/s").value(), 1);
}

TEST(UnitFactor, KnowsAnyUnitToBeItself) {
  EXPECT_EQ(unit_factor("tokens/s", "tokens/s"), 1);
  EXPECT_EQ(unit_factor("", ""), 1);
}

TEST(UnitFactor, RefusesWhatDoesNot) {
  EXPECT_FALSE(unit_factor("ms", "GB/s"));
  EXPECT_FALSE(unit_factor("tokens/s", "s"));
  EXPECT_FALSE(unit_factor("B", "B/s"));
}

std::vector<Record> measured_in(std::shared_ptr<Environment> environment) {
  Record record = record_of("a", {1});
  record.axes = {{"D", "1"}};
  record.environment = std::move(environment);
  return {record};
}

std::vector<std::string> names(const EnvironmentDifferences& differences) {
  std::vector<std::string> all;
  for (const EnvironmentDifference& difference : differences.list) all.push_back(difference.what);
  return all;
}

TEST(EnvironmentDifferences, AreNoneOfTheSameTwice) {
  const auto records = measured_in(environment_of(1, "m"));
  const EnvironmentDifferences found = environment_differences(records, records);
  EXPECT_TRUE(found.list.empty());
  EXPECT_FALSE(found.different_machines);
}

TEST(EnvironmentDifferences, LeaveOutWhatBelongsToTheRun) {
  auto other = environment_of(2, "m");
  other->command = {"headroom", "run"};
  other->extra_info["seed"] = "8";
  other->machines.emplace_back().extra_info["hostname"] = "another";
  EXPECT_TRUE(environment_differences(measured_in(environment_of(1, "m")), measured_in(other)).list.empty());
}

TEST(EnvironmentDifferences, SayWhatIsKnownOfTheMachineBesides) {
  auto other = environment_of(1, "m");
  other->machines.emplace_back().extra_info["container"] = "docker";
  EXPECT_THAT(names(environment_differences(measured_in(environment_of(1, "m")), measured_in(other))),
              ElementsAre("container"));
}

TEST(EnvironmentDifferences, SayTwoMachines) {
  const auto found =
      environment_differences(measured_in(environment_of(1, "m")), measured_in(environment_of(1, "n")));
  EXPECT_TRUE(found.different_machines);
  EXPECT_THAT(names(found), ElementsAre("machine"));
}

TEST(EnvironmentDifferences, SayWhereCasesLieInOtherPages) {
  auto before = measured_in(environment_of(1, "m")), after = measured_in(environment_of(2, "m"));
  before[0].model.extra_info["huge pages"] = "100 %";
  after[0].model.extra_info["huge pages"] = "0 %";
  const auto found = environment_differences(before, after);
  ASSERT_EQ(found.list.size(), 1U);
  EXPECT_EQ(found.list[0].what, "share in huge pages");
  EXPECT_EQ(found.list[0].baseline, "100 %");
  EXPECT_EQ(found.list[0].test, "0 %");
}

TEST(EnvironmentDifferences, ListWhatDiffersInOrder) {
  auto before = environment_of(1, "m"), after = environment_of(2, "m");
  before->governor = "performance";
  after->governor = "powersave";
  before->headroom_version = after->headroom_version = "0.1.0";
  before->dependencies["torch"].version = "2.4";
  after->dependencies["torch"].version = "2.5";
  before->git_sha = "aaa";
  after->extra_info["bucket_size"] = "25";
  auto test = measured_in(after);
  test.push_back(record_of("b", {1}));
  test.back().axes = {{"D", "2"}};
  const auto found = environment_differences(measured_in(before), test);
  EXPECT_THAT(names(found),
              ElementsAre("governor", "torch version", "git revision", "axis D", "bucket_size"));
  EXPECT_EQ(found.list[2].test, "-");
  EXPECT_EQ(found.list[3].test, "1, 2");
}

}  // namespace
}  // namespace headroom
