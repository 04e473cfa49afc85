// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/collectives_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "record_of.h"

namespace headroom {
namespace {

/// Four ranks of `calls` calls of 1 MB in 1.000 to 1.006 ms; rank 2 takes a tenth longer, but for every
/// fourth call, where rank 0 takes twice as long.
CollectiveResult four_ranks(std::size_t calls) {
  CollectiveResult result;
  result.setup = {"all_reduce", 1'000'000, "f32", 4, 1};
  result.stop = StopReason::kMaxTime;
  result.ranks.resize(4);
  for (std::size_t call = 0; call < calls; ++call) {
    const double ns = 1e6 + static_cast<double>(call % 7) * 1e3;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      double own = rank == 2 ? 1.1 * ns : ns;
      if (rank == 0 && call % 4 == 0) own = 2 * ns;
      result.ranks[rank].pid = 100 + static_cast<int>(rank);
      result.ranks[rank].ns.push_back(own);
    }
  }
  return result;
}

TEST(CollectiveRecords, TheLatencyIsThatOfTheSlowestRankOfEachCall) {
  const auto records = collective_records(four_ranks(200), "libtorch 1.13.1", nullptr);
  const Record& latency = records.front();
  EXPECT_EQ(latency.metric.name, "latency");
  EXPECT_TRUE(latency.metric.headline);
  ASSERT_EQ(latency.samples.size(), 1U);
  EXPECT_DOUBLE_EQ(latency.samples[0].values[0], 2000);
  EXPECT_DOUBLE_EQ(latency.samples[0].values[1], 1101.1);
  EXPECT_NEAR(latency.metric.value, 1103, 3);
  EXPECT_EQ(latency.metric.extra_info.at("slowest rank"), "2");
  EXPECT_EQ(latency.metric.extra_info.at("slowest share"), "0.750");
  EXPECT_TRUE(latency.verified);
  EXPECT_EQ(latency.axes, (AxisValues{{"bytes", "1000000"}, {"ranks", "4"}, {"dtype", "f32"}}));
}

TEST(CollectiveRecords, BandwidthsAreThoseOfNcclTests) {
  const auto records = collective_records(four_ranks(200), "libtorch 1.13.1", nullptr);
  const Record *algbw = test::record_of(records, "algbw"), *busbw = test::record_of(records, "busbw");
  EXPECT_EQ(algbw->metric.unit, "GB/s");
  EXPECT_EQ(algbw->metric.direction, Direction::kHigherIsBetter);
  EXPECT_NEAR(algbw->metric.value, 1.0 / 1.103, 0.003);
  EXPECT_NEAR(busbw->metric.value, 1.5 * algbw->metric.value, 1e-9);
  EXPECT_TRUE(busbw->interval);
}

TEST(CollectiveRecords, PercentilesHaveIntervalsWhereThereAreEnoughCalls) {
  const auto many = collective_records(four_ranks(1000), "libtorch 1.13.1", nullptr);
  EXPECT_NEAR(test::record_of(many, "latency p90")->metric.value, 2003, 6);
  EXPECT_TRUE(test::record_of(many, "latency p99")->interval);
  const auto few = collective_records(four_ranks(20), "libtorch 1.13.1", nullptr);
  EXPECT_FALSE(test::record_of(few, "latency p99")->interval);
}

TEST(CollectiveRecords, RanksAndTheirSkewAreKept) {
  const auto records = collective_records(four_ranks(200), "libtorch 1.13.1", nullptr);
  const Record* ranks = test::record_of(records, "rank latency");
  ASSERT_EQ(ranks->samples.size(), 4U);
  EXPECT_EQ(ranks->samples[3].pid, 103);
  const std::vector<double> medians = process_medians(*ranks);
  EXPECT_EQ(std::ranges::max_element(medians) - medians.begin(), 2);
  EXPECT_NEAR(test::record_of(records, "skew")->metric.value, 100, 1);
}

TEST(CollectiveRecords, WhatWasNotMeasuredHasItsReason) {
  CollectiveResult result = four_ranks(0);
  result.outcome = {Outcome::Kind::kFailed, "wrong data on rank 1: element 3 of 4 is 7, not 5 (1 is wrong)"};
  auto records = collective_records(result, "libtorch 1.13.1", nullptr);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].outcome.kind, Outcome::Kind::kFailed);
  EXPECT_FALSE(records[0].verified);
  result.outcome = {};
  EXPECT_EQ(collective_records(result, "", nullptr)[0].outcome.reason, "ended before its first call");
}

TEST(CollectiveRecords, ACompositionIsSaid) {
  CollectiveResult result = four_ranks(50);
  result.how = "all_to_all, then a sum on each rank";
  EXPECT_EQ(collective_records(result, "", nullptr)[0].model.extra_info.at("composed of"), result.how);
}

}  // namespace
}  // namespace headroom
