// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/target_verdict.h"

#include <gtest/gtest.h>

#include "full_record.h"

namespace headroom {
namespace {

/// 20 GB/s with an interval of 19 to 21, at 0.90 of its limit with an interval of 0.88 to 0.92.
Record at_nine_tenths() {
  Record record = measured("gemv", "1024", "bf16", 20);
  record.interval = Interval{19, 21, 0.95};
  record.limit = Limit{{{"read", 1 << 20, "linear", "", 2}}, 22, 0.9, Interval{0.88, 0.92, 0.95}, false};
  return record;
}

TargetVerdict against(Record record, Target::Kind kind, double value) {
  std::vector<Record> records{std::move(record)};
  apply_targets(records, std::vector<Target>{{"gemv", records[0].metric.name, "", "cpu", kind, value}});
  return target_verdict(records[0]);
}

TEST(TargetVerdict, ComparesAValueInTheDirectionOfTheMetric) {
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kValue, 19), TargetVerdict::kReached);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kValue, 20), TargetVerdict::kUnclear);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kValue, 20.5), TargetVerdict::kUnclear);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kValue, 22), TargetVerdict::kMissed);
  Record lower = at_nine_tenths();
  lower.metric.direction = Direction::kLowerIsBetter;
  EXPECT_EQ(against(lower, Target::Kind::kValue, 22), TargetVerdict::kReached);
  EXPECT_EQ(against(lower, Target::Kind::kValue, 18), TargetVerdict::kMissed);
}

TEST(TargetVerdict, ComparesAShareWithThePairedRatioToTheLimit) {
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kShareOfLimit, 0.88), TargetVerdict::kReached);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kShareOfLimit, 0.9), TargetVerdict::kUnclear);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kShareOfLimit, 0.91), TargetVerdict::kUnclear);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kShareOfLimit, 0.95), TargetVerdict::kMissed);
}

TEST(TargetVerdict, AShareIsAlsoGivenInTheUnitOfTheMetric) {
  std::vector<Record> records{at_nine_tenths(), at_nine_tenths()};
  records[1].metric.direction = Direction::kLowerIsBetter;
  apply_targets(records, std::vector<Target>{{"gemv", "", "", "cpu", Target::Kind::kShareOfLimit, 0.5}});
  EXPECT_DOUBLE_EQ(records[0].metric.target.value(), 11);
  EXPECT_DOUBLE_EQ(records[1].metric.target.value(), 44);
}

TEST(TargetVerdict, AResultAboveItsLimitIsNoSuccess) {
  Record record = at_nine_tenths();
  record.limit->fraction = 1.2;
  record.limit->interval = Interval{1.1, 1.3, 0.95};
  EXPECT_EQ(against(record, Target::Kind::kShareOfLimit, 0.9), TargetVerdict::kUnclear);
  EXPECT_TRUE(is_miscounted(record));
  record.busy_cpus = 1;
  EXPECT_FALSE(is_miscounted(record)) << "the limit may have been held up";
  record.busy_cpus = 0;
  record.limit->unstable = true;
  EXPECT_FALSE(is_miscounted(record));
  EXPECT_EQ(against(record, Target::Kind::kShareOfLimit, 0.9), TargetVerdict::kUnclear) << "held up, perhaps";
  record.limit->unstable = false;
  record.limit->interval.reset();
  EXPECT_EQ(against(record, Target::Kind::kShareOfLimit, 0.9), TargetVerdict::kUnclear) << "too few samples";
}

TEST(TargetVerdict, WithoutAnIntervalNothingIsSaid) {
  Record record = at_nine_tenths();
  record.interval.reset();
  EXPECT_EQ(against(record, Target::Kind::kValue, 1), TargetVerdict::kUnclear);
  EXPECT_EQ(against(record, Target::Kind::kValue, 100), TargetVerdict::kUnclear)
      << "one sample misses nothing";
  record.limit->interval = Interval{0.1, 1.4, 0.95};
  EXPECT_EQ(against(record, Target::Kind::kShareOfLimit, 0.55), TargetVerdict::kUnclear);
}

TEST(TargetVerdict, TheMeanDoesNotContradictItsCases) {
  std::vector<Record> cases{at_nine_tenths(), at_nine_tenths(), at_nine_tenths()};
  cases[1].metric.value = 5;  // small shapes and large ones
  cases[1].interval = Interval{4, 6, 0.95};
  const auto mean_at = [&](double share) {
    for (Record& record : cases) {
      record.metric.target = record.limit->value * share;
      record.metric.target_share = share;
    }
    return mean_target_verdict(std::vector<const Record*>{&cases[0], &cases[1], &cases[2]});
  };
  EXPECT_EQ(mean_at(0.87), TargetVerdict::kReached);
  EXPECT_EQ(mean_at(0.90), TargetVerdict::kUnclear);
  EXPECT_EQ(mean_at(0.93), TargetVerdict::kMissed);
  EXPECT_EQ(mean_at(0.885), TargetVerdict::kReached) << "three cases tell more than one";
  cases[0].limit->interval.reset();
  EXPECT_EQ(mean_at(0.5), TargetVerdict::kUnclear);
}

TEST(TargetVerdict, IsNoneWithoutAMeasurementATargetOrALimit) {
  Record failed = at_nine_tenths();
  failed.outcome.kind = Outcome::Kind::kFailed;
  EXPECT_EQ(against(failed, Target::Kind::kValue, 1), TargetVerdict::kNone);
  EXPECT_EQ(target_verdict(at_nine_tenths()), TargetVerdict::kNone);
  Record unlimited = at_nine_tenths();
  unlimited.limit.reset();
  EXPECT_EQ(against(unlimited, Target::Kind::kShareOfLimit, 0.5), TargetVerdict::kNone);
}

TEST(TargetVerdict, OnlyHeadlinesGetTargets) {
  Record latency = at_nine_tenths();
  latency.metric.headline = false;
  EXPECT_EQ(against(latency, Target::Kind::kValue, 1), TargetVerdict::kNone);
}

}  // namespace
}  // namespace headroom
