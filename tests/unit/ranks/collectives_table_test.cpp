// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collectives/collectives_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Record record(const std::string& metric, double value, std::optional<Interval> interval) {
  Record made;
  made.model.name = "reduce_scatter";
  made.model.backend = "gloo";
  made.axes = {{"bytes", "4096"}, {"ranks", "2"}, {"dtype", "f32"}};
  made.metric.name = metric;
  made.metric.unit = metric.ends_with("bw") ? "GB/s" : "us";
  made.metric.value = value;
  made.interval = interval;
  made.verified = true;
  return made;
}

std::vector<Record> measured() {
  std::vector<Record> records{record("latency", 120, Interval{115, 125, 0.95})};
  records[0].samples.push_back({});
  records[0].samples[0].values.assign(40, 120);
  records[0].metric.extra_info = {{"slowest rank", "1"}, {"slowest share", "0.613"}};
  records.push_back(record("latency p90", 150, Interval{140, 190, 0.95}));
  records.push_back(record("latency p99", 180, std::nullopt));
  records.push_back(record("algbw", 0.0341, std::nullopt));
  records.push_back(record("busbw", 0.0171, Interval{0.016, 0.018, 0.95}));
  records.push_back(record("skew", 12, std::nullopt));
  return records;
}

TEST(CollectivesTable, HasTimeBandwidthSkewAndPercentilesWithTheirSpread) {
  EXPECT_THAT(collectives_sheet(measured()).text(),
              AllOf(HasSubstr("4 KiB"), HasSubstr("120 µs ±5.00 µs"), HasSubstr("0.0341"),
                    HasSubstr("0.0171 ±0.00100"), HasSubstr("12.0 µs"), HasSubstr("rank 1 in 61.3 %"),
                    HasSubstr("right"), HasSubstr("150 µs [140 µs, 190 µs]"), HasSubstr("180 µs [too few]")));
}

TEST(CollectivesTable, SaysOnceOfWhatACollectiveIsComposed) {
  auto records = measured();
  EXPECT_THAT(collectives_sheet(records).text(), Not(HasSubstr("*")));
  for (Record& made : records) made.model.extra_info["composed of"] = "all_to_all, then a sum";
  EXPECT_THAT(collectives_sheet(records).text(),
              AllOf(HasSubstr("reduce_scatter *"),
                    HasSubstr("* gloo has no reduce_scatter: measured is all_to_all, then a sum\n")));
}

TEST(CollectivesTable, WhatFailedIsARowWithItsReason) {
  Record failed = record("latency", 0, std::nullopt);
  failed.outcome = {Outcome::Kind::kFailed, "wrong data on rank 1"};
  EXPECT_EQ(collectives_sheet({failed}).text(),
            "1 of 1 case failed: reduce_scatter of 4 KiB: wrong data on rank 1\n"
            "FAILED: reduce_scatter of 4 KiB: wrong data on rank 1\n");
}

TEST(CollectivesTable, EachRankHasARow) {
  Record ranks = record("rank latency", 120, std::nullopt);
  ranks.samples.resize(2);
  ranks.samples[0].values.assign(30, 110);
  ranks.samples[1].values.assign(30, 130);
  EXPECT_THAT(collectives_rank_table({ranks}).text(),
              AllOf(HasSubstr("110 µs"), HasSubstr("130 µs"), HasSubstr("30")));
}

}  // namespace
}  // namespace headroom
