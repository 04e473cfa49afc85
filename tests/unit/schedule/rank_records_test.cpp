// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/ddp/ddp.h"
#include "headroom/ranks/dispatch/dispatch.h"
#include "headroom/record/record.h"
#include "headroom/schedule/case_records.h"

namespace headroom {
namespace {

using namespace testing;

const Record* record_of(const std::vector<Record>& records, const std::string& metric) {
  const auto found =
      std::ranges::find_if(records, [&](const Record& record) { return record.metric.name == metric; });
  return found == records.end() ? nullptr : &*found;
}

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

std::vector<Record> collective_records_of(const GroupResult& result) {
  return collective_records(case_records(result, {"torch-rank"}, nullptr));
}

TEST(CollectiveRecords, TheLatencyIsThatOfTheSlowestRankOfEachCall) {
  const auto records = collective_records_of(four_ranks(200));
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
  const auto records = collective_records_of(four_ranks(200));
  const Record *algbw = record_of(records, "algbw"), *busbw = record_of(records, "busbw");
  EXPECT_EQ(algbw->metric.unit, "GB/s");
  EXPECT_EQ(algbw->metric.direction, Direction::kHigherIsBetter);
  EXPECT_NEAR(algbw->metric.value, 1.0 / 1.103, 0.003);
  EXPECT_NEAR(busbw->metric.value, 1.5 * algbw->metric.value, 1e-9);
  EXPECT_TRUE(busbw->interval);
}

TEST(CollectiveRecords, PercentilesHaveIntervalsWhereThereAreEnoughCalls) {
  const auto many = collective_records_of(four_ranks(1000));
  EXPECT_NEAR(record_of(many, "latency p90")->metric.value, 2003, 6);
  EXPECT_TRUE(record_of(many, "latency p99")->interval);
  EXPECT_FALSE(record_of(many, "latency p99")->metric.headline);
  const auto few = collective_records_of(four_ranks(20));
  EXPECT_FALSE(record_of(few, "latency p99")->interval);
}

TEST(CollectiveRecords, RanksAndTheirSkewAreKept) {
  const auto records = collective_records_of(four_ranks(200));
  const Record* ranks = record_of(records, "rank latency");
  ASSERT_EQ(ranks->samples.size(), 4U);
  EXPECT_EQ(ranks->samples[3].pid, 103);
  const std::vector<double> medians = process_medians(*ranks);
  EXPECT_EQ(std::ranges::max_element(medians) - medians.begin(), 2);
  EXPECT_NEAR(record_of(records, "skew")->metric.value, 100, 1);
}

TEST(CollectiveRecords, WhatWasNotMeasuredHasItsReason) {
  GroupResult result = four_ranks(0);
  result.cases[0].outcome = {Outcome::Kind::kFailed, "wrong data on rank 1: element 3 of 4 is 7, not 5"};
  auto records = collective_records_of(result);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].outcome.kind, Outcome::Kind::kFailed);
  result.cases[0].outcome = {};
  EXPECT_EQ(collective_records_of(result)[0].outcome.kind, Outcome::Kind::kSkipped);
}

TEST(CollectiveRecords, ACompositionIsSaid) {
  GroupResult result = four_ranks(50);
  result.cases[0].info.notes["composed of"] = "all_to_all, then a sum on each rank";
  EXPECT_EQ(collective_records_of(result)[0].model.extra_info.at("composed of"),
            "all_to_all, then a sum on each rank");
}

/// 1 MiB on 4 ranks, a tenth of the limit.
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
  const Record &alpha = *record_of(lines, "alpha"), &beta = *record_of(lines, "beta");
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

const std::vector<DdpStep> kSteps{{"no ddp", 1, false}, {"1M/2G", 2, true, 1 << 20}};

GroupResult two_training_ranks() {
  GroupResult result;
  Track track;
  track.planned.spec.experiment = "ddp.mlp";
  track.planned.spec.backend = "headroom";
  track.planned.spec.axes = {{"batch_size", "8"},        {"ranks", "2"},        {"ddp", "yes"},
                             {"bucket_size", "1310720"}, {"transport", "gloo"}, {"image_size", "64"}};
  track.planned.metric = "latency";
  track.planned.device = "cpu";
  track.planned.each_rank_counts = true;
  track.info.notes = {{"unused parameters", "fc.bias, fc.weight"}};
  using Kind = ReportedMetric::Kind;
  track.info.metrics = {{"throughput", "examples/s", Direction::kHigherIsBetter, Kind::kRate, 16},
                        {"exposed communication", "s", Direction::kLowerIsBetter, Kind::kColumn, 0}};
  track.pids = {100};
  for (std::uint32_t i = 0; i < 10; ++i) {
    const double ns = 100e6 + 1e5 * i;
    track.readings.push_back({i, 0, ns, {}, {}, {0.02}, {{100, ns, {0.02}}, {101, ns, {0.02}}}});
  }
  // Includes warm-up.
  const std::vector<double> launched{9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (int rank = 0; rank < 2; ++rank) {
    track.reported.push_back(
        {"", {}, {{"bucket 0 launched", "us", launched, {}, {{"bytes", 4096}, {"tensors", 3}}}}});
  }
  result.cases.push_back(std::move(track));
  return result;
}

std::vector<Record> ddp_records_of(const GroupResult& result) {
  return ddp_records(case_records(result, {"torch-rank"}, nullptr), kSteps);
}

TEST(DdpRecords, HaveTheIterationsOfEachRankInSeconds) {
  const auto records = ddp_records_of(two_training_ranks());
  const Record& latency = records.front();
  EXPECT_EQ(latency.model.name, "mlp");
  EXPECT_EQ(latency.benchmark.name, "ddp");
  EXPECT_EQ(latency.model.extra_info.at("step"), "1M/2G");
  EXPECT_EQ(latency.metric.name, "latency");
  EXPECT_EQ(latency.metric.unit, "s");
  EXPECT_TRUE(latency.metric.headline);
  ASSERT_EQ(latency.samples.size(), 2U);
  EXPECT_EQ(latency.samples[1].pid, 101);
  EXPECT_NEAR(latency.metric.value, 0.10045, 1e-9);
  EXPECT_NEAR(record_of(records, "throughput")->metric.value, 16 / 0.10045, 0.1);
  EXPECT_EQ(record_of(records, "throughput")->metric.direction, Direction::kHigherIsBetter);
  EXPECT_THAT(record_of(records, "exposed communication")->samples[0].values, Each(DoubleNear(0.02, 1e-12)));
}

TEST(DdpRecords, HaveTheAxesOfPytorchsBenchmark) {
  const auto records = ddp_records_of(two_training_ranks());
  std::vector<std::string> axes;
  for (const auto& [name, value] : records.front().axes) axes.push_back(name + "=" + value.text());
  EXPECT_THAT(axes, ElementsAre("batch_size=8", "ranks=2", "ddp=yes", "image_size=64", "bucket_size=1.25"));
}

TEST(DdpRecords, TellBucketsOfTheIterationsThatCount) {
  const auto records = ddp_records_of(two_training_ranks());
  const Record* launched = record_of(records, "bucket 0 launched");
  ASSERT_NE(launched, nullptr);
  EXPECT_EQ(launched->metric.numbers.at("bytes"), 4096);
  ASSERT_EQ(launched->samples.size(), 2U);
  EXPECT_THAT(launched->samples[0].values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(launched->samples[0].rounds.size(), 10U);
}

TEST(DdpRecords, NoteUnusedParametersOnce) {
  const auto records = ddp_records_of(two_training_ranks());
  EXPECT_THAT(sentence(records.front().notes.back()), HasSubstr("fc.bias, fc.weight"));
  EXPECT_TRUE(records.back().notes.empty());
}

TEST(DdpRecords, SayWhyThereIsNothing) {
  GroupResult result = two_training_ranks();
  result.cases[0].readings.clear();
  result.cases[0].outcome = {Outcome::Kind::kFailed, "the reduction failed"};
  const auto records = ddp_records_of(result);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].outcome.reason, "the reduction failed");
  EXPECT_EQ(records[0].model.extra_info.at("step"), "1M/2G");
}

GroupResult two_dispatching_ranks() {
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
  const auto records = dispatch_records(case_records(two_dispatching_ranks(), {"torch-rank"}, nullptr));
  const Record* hit = record_of(records, "hit");
  ASSERT_NE(hit, nullptr);
  EXPECT_TRUE(hit->metric.headline);
  ASSERT_EQ(hit->samples.size(), 2U);
  EXPECT_EQ(hit->samples[1].pid, 101);
  EXPECT_EQ(hit->samples[1].rounds.size(), 50U);
  EXPECT_THAT(process_medians(*hit), ElementsAre(DoubleNear(4.53, 1e-9), DoubleNear(9.03, 1e-9)));
  EXPECT_EQ(hit->metric.unit, "us");
  EXPECT_EQ(hit->stop, StopReason::kPrecision);
  EXPECT_THAT(process_medians(*record_of(records, "miss")), ElementsAre(9.5, 19));
  EXPECT_EQ(record_of(records, "skew"), nullptr) << "each rank counts by itself";
  EXPECT_EQ(record_of(records, "rank latency"), nullptr);
}

TEST(DispatchRecords, AreInTheWordsOfTheInstrument) {
  const Record hit = dispatch_records(case_records(two_dispatching_ranks(), {"torch-rank"}, nullptr)).front();
  EXPECT_EQ(hit.model.name, "add");
  EXPECT_EQ(hit.model.type, "operator dispatch");
  EXPECT_EQ(hit.model.backend, "dtensor");
  EXPECT_EQ(hit.axes, (AxisValues{{"mesh", "2"}, {"dtype", "f32"}}));
}

}  // namespace
}  // namespace headroom
