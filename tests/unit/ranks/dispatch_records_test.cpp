// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/schedule/case_records.h"
#include "record_of.h"

namespace headroom {
namespace {

/// Two ranks of 50 cycles, whose calls take twice as long on rank 1; of a cycle the misses are a column.
GroupResult two_ranks() {
  Track track;
  track.planned.spec.experiment = "dispatch.add";
  track.planned.spec.backend = "gloo";
  track.planned.spec.axes = {{"mesh", "2"}, {"dtype", "f32"}, {"repeats", "9"}};
  track.planned.metric = "latency";
  track.planned.device = "cpu";
  track.planned.each_rank_counts = true;
  track.info.metrics = {{"miss", "us", Direction::kLowerIsBetter, ReportedMetric::Kind::kColumn, 0}};
  track.pids = {100};
  for (std::uint32_t cycle = 0; cycle < 50; ++cycle) {
    const double noise = cycle % 7 * 10;
    Reading reading;
    reading.round = cycle;
    reading.ranks = {{100, 4500 + noise, {9.5}}, {101, 9000 + noise, {19}}};
    reading.ns = 9000 + noise;
    reading.columns = {19};
    track.readings.push_back(std::move(reading));
  }
  GroupResult result;
  result.cases = {std::move(track)};
  result.stop = StopReason::kPrecision;
  return result;
}

TEST(DispatchRecords, HaveASeriesForEachRank) {
  const auto records = dispatch_records(case_records(two_ranks(), {"torch-rank"}, nullptr));
  const Record* hit = test::record_of(records, "hit");
  ASSERT_NE(hit, nullptr);
  EXPECT_TRUE(hit->metric.headline);
  ASSERT_EQ(hit->samples.size(), 2U);
  EXPECT_EQ(hit->samples[1].pid, 101);
  EXPECT_EQ(hit->samples[1].rounds.size(), 50U);
  EXPECT_THAT(process_medians(*hit),
              testing::ElementsAre(testing::DoubleNear(4.53, 1e-9), testing::DoubleNear(9.03, 1e-9)));
  EXPECT_EQ(hit->metric.unit, "us");
  EXPECT_EQ(hit->stop, StopReason::kPrecision);
  EXPECT_THAT(process_medians(*test::record_of(records, "miss")), testing::ElementsAre(9.5, 19));
  EXPECT_EQ(test::record_of(records, "skew"), nullptr) << "each rank counts by itself";
  EXPECT_EQ(test::record_of(records, "rank latency"), nullptr);
}

TEST(DispatchRecords, AreInTheWordsOfTheInstrument) {
  const Record hit = dispatch_records(case_records(two_ranks(), {"torch-rank"}, nullptr)).front();
  EXPECT_EQ(hit.model.name, "add");
  EXPECT_EQ(hit.model.type, "operator dispatch");
  EXPECT_EQ(hit.model.backend, "dtensor");
  EXPECT_EQ(hit.axes, (AxisValues{{"mesh", "2"}, {"dtype", "f32"}}));
}

}  // namespace
}  // namespace headroom
