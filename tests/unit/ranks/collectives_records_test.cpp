// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collectives/collectives_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "headroom/schedule/case_records.h"
#include "record_of.h"

namespace headroom {
namespace {

/// Four ranks of `calls` calls of 1 MB in 1.000 to 1.006 ms; rank 2 takes a tenth longer, but for every
/// fourth call, where rank 0 takes twice as long.
GroupResult four_ranks(std::size_t calls) {
  Track track;
  track.planned.spec.experiment = "all_reduce";
  track.planned.spec.backend = "gloo";
  track.planned.spec.axes = {{"bytes", "1000000"}, {"ranks", "4"}, {"dtype", "f32"}};
  track.planned.metric = "latency";
  track.planned.device = "cpu";
  track.info.verified = true;
  track.info.metrics = {{"algbw", "GB/s", Direction::kHigherIsBetter, ReportedMetric::Kind::kRate, 1e-3},
                        {"busbw", "GB/s", Direction::kHigherIsBetter, ReportedMetric::Kind::kRate, 1.5e-3}};
  track.pids = {100};
  for (std::size_t call = 0; call < calls; ++call) {
    const double ns = 1e6 + static_cast<double>(call % 7) * 1e3;
    Reading reading;
    reading.round = static_cast<std::uint32_t>(call);
    reading.ranks = {{100, call % 4 == 0 ? 2 * ns : ns}, {101, ns}, {102, 1.1 * ns}, {103, ns}};
    reading.ns = std::ranges::max(reading.ranks, {}, &RankSample::elapsed_ns).elapsed_ns;
    track.readings.push_back(std::move(reading));
  }
  GroupResult result;
  result.cases = {std::move(track)};
  result.stop = StopReason::kMaxTime;
  return result;
}

std::vector<Record> records_of(const GroupResult& result) {
  return collective_records(case_records(result, {"torch-rank"}, nullptr));
}

TEST(CollectiveRecords, TheLatencyIsThatOfTheSlowestRankOfEachCall) {
  const auto records = records_of(four_ranks(200));
  const Record& latency = records.front();
  EXPECT_EQ(latency.metric.name, "latency");
  EXPECT_EQ(latency.model.type, "collective");
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

TEST(CollectiveRecords, BandwidthsFollowFromTheTimeOfTheSlowestRank) {
  const auto records = records_of(four_ranks(200));
  const Record *algbw = test::record_of(records, "algbw"), *busbw = test::record_of(records, "busbw");
  EXPECT_EQ(algbw->metric.unit, "GB/s");
  EXPECT_EQ(algbw->metric.direction, Direction::kHigherIsBetter);
  EXPECT_NEAR(algbw->metric.value, 1.0 / 1.103, 0.003);
  EXPECT_NEAR(busbw->metric.value, 1.5 * algbw->metric.value, 1e-9);
  EXPECT_TRUE(busbw->interval);
}

TEST(CollectiveRecords, PercentilesHaveIntervalsWhereThereAreEnoughCalls) {
  const auto many = records_of(four_ranks(1000));
  EXPECT_NEAR(test::record_of(many, "latency p90")->metric.value, 2003, 6);
  EXPECT_TRUE(test::record_of(many, "latency p99")->interval);
  EXPECT_FALSE(test::record_of(many, "latency p99")->metric.headline);
  const auto few = records_of(four_ranks(20));
  EXPECT_FALSE(test::record_of(few, "latency p99")->interval);
}

TEST(CollectiveRecords, RanksAndTheirSkewAreKept) {
  const auto records = records_of(four_ranks(200));
  const Record* ranks = test::record_of(records, "rank latency");
  ASSERT_EQ(ranks->samples.size(), 4U);
  EXPECT_EQ(ranks->samples[3].pid, 103);
  const std::vector<double> medians = process_medians(*ranks);
  EXPECT_EQ(std::ranges::max_element(medians) - medians.begin(), 2);
  EXPECT_NEAR(test::record_of(records, "skew")->metric.value, 100, 1);
}

TEST(CollectiveRecords, WhatWasNotMeasuredHasItsReason) {
  GroupResult result = four_ranks(0);
  result.cases[0].outcome = {Outcome::Kind::kFailed, "wrong data on rank 1: element 3 of 4 is 7, not 5"};
  auto records = records_of(result);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].outcome.kind, Outcome::Kind::kFailed);
  result.cases[0].outcome = {};
  EXPECT_EQ(records_of(result)[0].outcome.kind, Outcome::Kind::kSkipped);
}

TEST(CollectiveRecords, ACompositionIsSaid) {
  GroupResult result = four_ranks(50);
  result.cases[0].info.notes["composed of"] = "all_to_all, then a sum on each rank";
  EXPECT_EQ(records_of(result)[0].model.extra_info.at("composed of"), "all_to_all, then a sum on each rank");
}

/// All-reduces of 1, 4 and 16 MiB on 2 ranks, and of 1 MiB on 4, whose limit is a tenth of their time.
std::vector<Record> all_reduces() {
  std::vector<Record> collectives;
  for (const auto& [ranks, mebibytes] : {std::pair{2, 1}, {2, 4}, {2, 16}, {4, 1}}) {
    Record& record = collectives.emplace_back();
    record.model.name = "all_reduce";
    record.metric.name = "latency";
    record.metric.unit = "us";
    record.metric.value = 100.0 * ranks + 2000.0 * mebibytes;
    record.axes = {{"bytes", std::to_string(mebibytes << 20)}, {"ranks", std::to_string(ranks)}};
    record.samples.emplace_back().values = {1};
    record.limit.emplace().value = record.metric.value / 10;
  }
  return collectives;
}

TEST(CollectiveLines, AreOfEachRankCountThatHasTwoSizes) {
  const std::vector<Record> lines = collective_lines(all_reduces());
  ASSERT_EQ(lines.size(), 2U);
  const Record &alpha = *test::record_of(lines, "alpha"), &beta = *test::record_of(lines, "beta");
  EXPECT_NEAR(alpha.metric.value, 200, 1e-6);
  EXPECT_NEAR(beta.metric.value, 2000, 1e-6);
  EXPECT_EQ(beta.metric.extra_info.at("sizes"), "3");
  ASSERT_TRUE(alpha.limit && beta.limit);
  EXPECT_NEAR(alpha.limit->value, 20, 1e-6);
  EXPECT_NEAR(beta.limit->fraction, 0.1, 1e-9);
}

TEST(CollectiveLines, AreOfEachCollective) {
  std::vector<Record> collectives = all_reduces();
  collectives.pop_back();
  for (Record record : all_reduces()) {
    record.model.name = "broadcast";
    record.limit.reset();
    collectives.push_back(record);
  }
  const std::vector<Record> lines = collective_lines(collectives);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[2].model.name, "broadcast");
  EXPECT_FALSE(lines[2].limit);
}

}  // namespace
}  // namespace headroom
