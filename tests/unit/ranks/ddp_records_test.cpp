// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/schedule/case_records.h"
#include "record_of.h"

namespace headroom {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<DdpStep> kSteps{{"no ddp", 1, false}, {"1M/2G", 2, true, 1 << 20}};

/// A case of training by two ranks as the engine has it: ten iterations of 100 ms, of which 20 ms are
/// exposed.
GroupResult two_ranks() {
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
  // Warm-up has been there, too.
  const std::vector<double> launched{9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (int rank = 0; rank < 2; ++rank) {
    track.told.push_back(
        {"", {}, {{"bucket 0 launched", "us", launched, {{"bytes", "4096"}, {"tensors", "3"}}}}});
  }
  result.cases.push_back(std::move(track));
  return result;
}

std::vector<Record> records_of(const GroupResult& result) {
  return ddp_records(case_records(result, {"torch-rank"}, nullptr), kSteps);
}

TEST(DdpRecords, HaveTheIterationsOfEachRankInSeconds) {
  const auto records = records_of(two_ranks());
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
  EXPECT_NEAR(test::record_of(records, "throughput")->metric.value, 16 / 0.10045, 0.1);
  EXPECT_EQ(test::record_of(records, "throughput")->metric.direction, Direction::kHigherIsBetter);
  EXPECT_THAT(test::record_of(records, "exposed communication")->samples[0].values,
              Each(DoubleNear(0.02, 1e-12)));
}

TEST(DdpRecords, HaveTheAxesOfPytorchsBenchmark) {
  const auto records = records_of(two_ranks());
  std::vector<std::string> axes;
  for (const auto& [name, value] : records.front().axes) axes.push_back(name + "=" + value.text());
  EXPECT_THAT(axes, ElementsAre("batch_size=8", "ranks=2", "ddp=yes", "image_size=64", "bucket_size=1.25"));
}

TEST(DdpRecords, TellBucketsOfTheIterationsThatCount) {
  const auto records = records_of(two_ranks());
  const Record* launched = test::record_of(records, "bucket 0 launched");
  ASSERT_NE(launched, nullptr);
  EXPECT_EQ(launched->metric.extra_info.at("bytes"), "4096");
  ASSERT_EQ(launched->samples.size(), 2U);
  EXPECT_THAT(launched->samples[0].values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(launched->samples[0].rounds.size(), 10U);
}

TEST(DdpRecords, NoteUnusedParametersOnce) {
  const auto records = records_of(two_ranks());
  EXPECT_THAT(records.front().notes.back(), HasSubstr("fc.bias, fc.weight"));
  EXPECT_TRUE(records.back().notes.empty());
}

TEST(DdpRecords, SayWhyThereIsNothing) {
  GroupResult result = two_ranks();
  result.cases[0].readings.clear();
  result.cases[0].outcome = {Outcome::Kind::kFailed, "the reduction failed"};
  const auto records = records_of(result);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].outcome.reason, "the reduction failed");
  EXPECT_EQ(records[0].model.extra_info.at("step"), "1M/2G");
}

}  // namespace
}  // namespace headroom
