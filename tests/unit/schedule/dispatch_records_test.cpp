// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/dispatch_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "record_of.h"

namespace headroom {
namespace {

/// Two ranks of as many cycles; every call of rank 1 takes twice as long.
DispatchResult two_ranks(std::size_t cycles) {
  DispatchResult result;
  result.op = "add";
  result.stop = StopReason::kPrecision;
  for (int rank = 0; rank < 2; ++rank) {
    DispatchRank& measured = result.ranks.emplace_back();
    measured.pid = 100 + rank;
    for (std::size_t i = 0; i < cycles; ++i) {
      const double noise = static_cast<double>(i % 7) * 10, slow = rank + 1;
      measured.cycles.plain_ns.push_back(slow * 9000 + noise);
      measured.cycles.local_ns.push_back(slow * 4000 + noise);
      measured.cycles.hit_ns.push_back(slow * 4500 + noise);
      measured.cycles.miss_ns.push_back(slow * 9500 + noise);
    }
    measured.details.instructions["hit"] = 8000;
    for (const char* step : kDispatchSteps) measured.details.hit[step] = {10, 20, 30};
  }
  return result;
}

TEST(DispatchRecords, HaveASeriesForEachRankAndNameTheWorst) {
  const auto records = dispatch_records(two_ranks(50), {}, "libtorch 1.13.1", nullptr);
  const Record* hit = test::record_of(records, "hit");
  ASSERT_NE(hit, nullptr);
  EXPECT_TRUE(hit->metric.headline);
  ASSERT_EQ(hit->samples.size(), 2U);
  EXPECT_EQ(hit->samples[1].pid, 101);
  EXPECT_EQ(hit->samples[1].values.size(), 50U);
  EXPECT_EQ(hit->samples[1].rounds.size(), 50U);
  const std::vector<double> medians = process_medians(*hit);
  EXPECT_NEAR(medians[0], 4.53, 1e-9);
  EXPECT_GT(medians[1], medians[0]);
  EXPECT_EQ(hit->metric.unit, "us");
  EXPECT_EQ(hit->stop, StopReason::kPrecision);
  EXPECT_EQ(hit->axes.front(), (AxisValues::value_type{"mesh", "4"}));
}

TEST(DispatchRecords, DifferencesAreOfTheSameCycle) {
  const auto records = dispatch_records(two_ranks(50), {}, "libtorch 1.13.1", nullptr);
  // The noise of a cycle is in both, and in no difference.
  EXPECT_THAT(test::record_of(records, "hit over local")->samples[0].values,
              testing::Each(testing::DoubleNear(0.5, 1e-9)));
  EXPECT_THAT(test::record_of(records, "propagation")->samples[1].values,
              testing::Each(testing::DoubleNear(10, 1e-9)));
  EXPECT_THAT(test::record_of(records, "miss over local")->samples[0].values,
              testing::Each(testing::DoubleNear(5.5, 1e-9)));
}

TEST(DispatchRecords, StepsAndInstructionsAreThereWhereTheyWereTaken) {
  const auto records = dispatch_records(two_ranks(10), {}, "libtorch 1.13.1", nullptr);
  EXPECT_NEAR(test::record_of(records, "hit look-up")->metric.value, 0.02, 1e-9);
  EXPECT_EQ(test::record_of(records, "miss look-up"), nullptr);
  EXPECT_EQ(test::record_of(records, "instructions hit")->metric.value, 8000);
  EXPECT_EQ(test::record_of(records, "instructions hit")->metric.unit, "1");
  EXPECT_EQ(test::record_of(records, "instructions plain"), nullptr);
}

TEST(DispatchRecords, WithoutPlainCallsThereAreNoDifferencesToThem) {
  DispatchResult result = two_ranks(10);
  for (DispatchRank& rank : result.ranks) rank.cycles.plain_ns = rank.cycles.local_ns = {};
  const auto records = dispatch_records(result, {}, "libtorch 1.13.1", nullptr);
  for (const char* metric : {"plain", "local", "hit over local", "miss over local"}) {
    EXPECT_EQ(test::record_of(records, metric), nullptr) << metric;
  }
  EXPECT_NE(test::record_of(records, "propagation"), nullptr);
}

TEST(DispatchRecords, SayWhyNothingWasMeasured) {
  DispatchResult result;
  result.op = "mm";
  result.outcome = {Outcome::Kind::kFailed, "takes a matrix"};
  const auto records = dispatch_records(result, {}, "libtorch 1.13.1", nullptr);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records.front().outcome.reason, "takes a matrix");
}

}  // namespace
}  // namespace headroom
