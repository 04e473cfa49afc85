// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reader_data.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string report(const std::string& result) {
  return R"({"benchmark_results": [{"model": "m", "batch_size": 32, "result": [)" + result + "]}]}";
}

TEST(DdpReportReader, GivesOneRecordForEachRankCount) {
  const std::vector<Record> records = read_records(reader_file("ddp_report.json"));
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(case_name(records[0]), "resnet50 batch_size=32 ranks=1 ddp=no");
  EXPECT_EQ(case_name(records[1]), "resnet50 batch_size=32 ranks=1 ddp=yes");
  EXPECT_EQ(case_name(records[2]), "resnet50 batch_size=32 ranks=2 ddp=yes");
  EXPECT_DOUBLE_EQ(records[0].metric.value, 0.098);
  EXPECT_DOUBLE_EQ(records[2].metric.value, 0.1035);
  EXPECT_EQ(records[0].metric.unit, "s");
}

TEST(DdpReportReader, SplitsMeasurementsByRankWhereTheyDivide) {
  const std::vector<Record> records = read_records(reader_file("ddp_report.json"));
  ASSERT_EQ(records[2].samples.size(), 2U);
  EXPECT_EQ(records[2].samples[1].pid, 1);
  EXPECT_THAT(records[2].samples[0].values, ElementsAre(0.102, 0.103));
  EXPECT_THAT(records[2].samples[1].values, ElementsAre(0.104, 0.105));
  ASSERT_EQ(records[3].samples.size(), 1U) << "four values of three ranks";
  EXPECT_EQ(records[3].samples[0].values.size(), 4U);
}

TEST(DdpReportReader, KeepsTheMetadata) {
  const auto environment = read_records(reader_file("ddp_report.json"))[0].environment;
  ASSERT_NE(environment, nullptr);
  EXPECT_THAT(environment->extra_info,
              ElementsAre(Pair("bucket_size", "25"), Pair("cuda_version", "null"),
                          Pair("nested", R"({"a":[1,2.5]})"), Pair("pytorch_version", "2.9.0")));
}

TEST(DdpReportReader, TakesMembersInAnyOrder) {
  const std::vector<Record> records = read_text(
      R"({"benchmark_results": [{"other": [{"x": 1}], "result": [{"measurements": [2, 4], "ranks": [3]}],)"
      R"("batch_size": 16.5, "model": "mé"}], "z": "last"})");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(case_name(records[0]), "mé batch_size=16.5 ranks=1 ddp=no");
  EXPECT_EQ(records[0].metric.value, 3);
  EXPECT_EQ(records[0].environment->extra_info.at("z"), "last");
}

TEST(DdpReportReader, TakesWhatTellsResultsOfAModelApartAsAxes) {
  const std::vector<Record> records = read_text(
      R"({"benchmark_results": [{"model": "m", "image_size": 64, "batch_size": 1, "bucket_size": 0.5, "result":)"
      R"([{"ranks": [0], "measurements": [2]}]}]})");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(case_name(records[0]), "m batch_size=1 ranks=1 ddp=no image_size=64 bucket_size=0.5");
}

TEST(DdpReportReader, OfMembersThatAreThereTwiceTheLastCounts) {
  const std::vector<Record> records = read_text(
      R"({"benchmark_results": [{"model": "old", "batch_size": 1, "result": [{"ranks": [0], "measurements": [9]}]}],)"
      R"("benchmark_results": [{"model": "m", "batch_size": 1, "result": [{"ranks": [0], "measurements": [8]}],)"
      R"("result": [{"ranks": [0], "measurements": [7], "measurements": [3]}]}]})");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].metric.value, 3);
  EXPECT_EQ(case_name(records[0]), "m batch_size=1 ranks=1 ddp=no");
}

TEST(DdpReportReader, RefusesWhatIsNoReport) {
  EXPECT_THAT(refusal(R"({"benchmark_results": [)"), HasSubstr("file: at byte 23"));
  EXPECT_THAT(refusal(report(R"({"ranks": [0], "measurements": [1, NaN]})")), HasSubstr("not JSON at byte"));
  EXPECT_THAT(refusal(report("") + "x"), HasSubstr("not JSON at byte"));
  EXPECT_THAT(refusal(report("")), HasSubstr("holds no measurement"));
  EXPECT_THAT(refusal(R"({"benchmark_results": [{"model": "m", "result": []}]})"),
              HasSubstr("/benchmark_results/0/batch_size: missing"));
  EXPECT_THAT(refusal(report(R"({"ranks": [0], "measurements": []})")),
              HasSubstr("/benchmark_results/0/result/0/measurements: is empty"));
  EXPECT_THAT(refusal(report(R"({"ranks": [], "measurements": [1]})")),
              HasSubstr("/result/0/ranks: is empty"));
  EXPECT_THAT(refusal(report(R"({"ranks": [0], "measurements": [1, "a"]})")),
              HasSubstr("/benchmark_results/0/result/0/measurements: expected a number"));
  EXPECT_THAT(
      refusal(report(R"({"ranks": [0], "measurements": [1, 0.5, -0.25]})")),
      HasSubstr("/benchmark_results/0/result/0/measurements/2: expected a time above zero, found -0.25"));
  EXPECT_THAT(refusal(report(R"({"ranks": [0], "measurements": [0]})")),
              HasSubstr("measurements/0: expected"));
  EXPECT_THAT(refusal(R"({"benchmark_results": 7})"), HasSubstr("/benchmark_results: expected a list"));
  EXPECT_THAT(refusal(R"({"benchmark_results": [{"model": 3}]})"), HasSubstr("/0/model: expected a string"));
  EXPECT_THAT(refusal(R"({"benchmark_results": [{"batch_size": "3"}]})"),
              HasSubstr("/0/batch_size: expected a number"));
  EXPECT_THAT(refusal(report(R"({"ranks": [0.5], "measurements": [1]})")),
              HasSubstr("/result/0/ranks: expected whole numbers"));
}

}  // namespace
}  // namespace headroom
