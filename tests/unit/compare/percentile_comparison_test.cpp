// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/percentile_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sample_records.h"

namespace headroom {
namespace {

using test::around;
using test::record_of;

std::vector<double> up_to(std::size_t count, double factor) {
  std::vector<double> values(count);
  // Mixed: values that only grow are drift, and tell nothing of a percentile.
  for (std::size_t i = 0; i < count; ++i) values[i] = factor * static_cast<double>(i * 37 % count + 1);
  return values;
}

TEST(ComparePercentile, IsLinearAndHasOrderStatistics) {
  const Record before = record_of("a", up_to(101, 1)), after = record_of("a", up_to(101, 3));
  const auto found = compare_percentile(compare_records(before, after), 75);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->baseline, 76);
  EXPECT_DOUBLE_EQ(found->test, 228);
  EXPECT_DOUBLE_EQ(found->ratio, 3);
  ASSERT_TRUE(found->ratio_interval && found->baseline_interval);
  EXPECT_TRUE(found->ratio_interval->contains(3));
  EXPECT_GT(found->ratio_interval->high, found->test_interval->high / found->baseline);
}

TEST(ComparePercentile, IsUndefinedWhereTheSampleIsTooSmall) {
  const Record small = record_of("a", up_to(20, 1));
  const auto found = compare_percentile(compare_records(small, small), 95);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->ratio_interval);
  EXPECT_FALSE(found->baseline_interval);
}

TEST(ShiftFunction, TellsWhichPartMoved) {
  std::vector<double> slow = up_to(400, 1);
  for (double& value : slow) value = 1000 + 0.01 * value;
  const Record before = record_of("a", slow);
  for (std::size_t i = 0; i < slow.size(); ++i) slow[i] *= i * 37 % 400 >= 300 ? 3 : 1;
  const Record after = record_of("a", slow);
  Comparison comparison = compare_records(before, after, {RunSpread{0, 1000}, std::nullopt, "a test"});
  comparison.margin = 0.01;
  const std::vector<DecileShift> shifts = shift_function(comparison);
  ASSERT_EQ(shifts.size(), 9U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(shifts[i].verdict, Verdict::kSame) << i;
  EXPECT_EQ(shifts[7].verdict, Verdict::kInconclusive) << "the step is near";
  EXPECT_EQ(shifts[8].verdict, Verdict::kRegression);
  EXPECT_TRUE(shifts[8].decile.ratio_interval->contains(3));
  EXPECT_GT(shifts[4].decile.ratio_interval->confidence, 0.99) << "one of nine";
}

TEST(ShiftFunction, ClaimsNothingWhereRunsMayDiffer) {
  const Record before = record_of("a", around(10, 200)), after = record_of("a", around(20, 200));
  const auto all = [](const std::vector<DecileShift>& shifts, Verdict verdict) {
    return std::ranges::all_of(shifts, [&](const DecileShift& shift) { return shift.verdict == verdict; });
  };
  EXPECT_TRUE(all(shift_function(compare_records(before, after)), Verdict::kInconclusive));
  const Record few = record_of("a", around(10, 5));
  EXPECT_TRUE(all(shift_function(compare_records(few, few)), Verdict::kUnderpowered));
  EXPECT_TRUE(shift_function(compare_records(record_of("a", {}), few)).empty());
}

TEST(ComparePercentile, KnowsOnlyOfValuesHowFarRunsLieApart) {
  Record before = record_of("a", around(10, 200)), after = record_of("a", around(20, 200));
  for (Record* record : {&before, &after}) {
    record->limit = Limit{{{"read", 4096, "linear", "", 1}}, 5, 0.5, Interval{0.499, 0.501, 0.95}, false};
  }
  after.limit->fraction = 0.25;
  after.limit->interval = Interval{0.2499, 0.2501, 0.95};
  const RunKnowledge shares{std::nullopt, RunSpread{0.0001, 100}, "a test"};
  const Comparison by_shares = compare_records(before, after, shares);
  ASSERT_EQ(by_shares.estimator, Estimator::kShares);
  EXPECT_TRUE(by_shares.doubts.empty());
  for (const DecileShift& shift : shift_function(by_shares)) EXPECT_EQ(shift.verdict, Verdict::kInconclusive);
}

TEST(ComparePercentile, IsNothingWithoutSamples) {
  Record lone = record_of("a", {});
  lone.metric.value = 1;
  EXPECT_FALSE(compare_percentile(compare_records(lone, lone), 50));
}

}  // namespace
}  // namespace headroom
