// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/comparison.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "headroom/compare/paired_series.h"
#include "sample_records.h"

namespace headroom {
namespace {

using test::around;
using test::environment_of;
using test::record_of;
using ::testing::HasSubstr;

/// Two sides of one session that drift by half, the test 2 % above the baseline in each round.
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
  EXPECT_THAT(comparison.problem, HasSubstr("in 'us', the test in 'tokens/s'"));
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
              HasSubstr("2 of 20 values of the test are zero, negative"));
  EXPECT_THAT(compare_records(zeros, good).problem, HasSubstr("2 of 20 values of the baseline"));
  EXPECT_FALSE(compare_records(good, zeros).ratio);
}

TEST(CompareRecords, TellsAFailedTestFromASkippedOne) {
  const Record good = record_of("a", around(100, 20));
  Record bad = record_of("a", {});
  bad.outcome = {Outcome::Kind::kFailed, "killed by signal 9"};
  EXPECT_EQ(compare_records(good, bad).verdict, Verdict::kFailed);
  EXPECT_EQ(compare_records(good, bad).problem, "the test failed: killed by signal 9");
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
  const Interval& interval = *many.ratio->interval;
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

}  // namespace
}  // namespace headroom
