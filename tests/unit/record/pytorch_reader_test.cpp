// SPDX-License-Identifier: Apache-2.0
// The OSS benchmark database and the CSV of the gpt-fast benchmark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/record/oss_v3_rows.h"
#include "reader_data.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(OssV3Reader, ReadsJsonLines) {
  const std::vector<Record> records = read_records(reader_file("oss_v3.jsonl"));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(case_name(records[0]), "BERT_pytorch use_compile=true tokens.dtype=int64 tokens.length=512");
  EXPECT_EQ(records[0].benchmark.mode, "inference");
  EXPECT_EQ(records[0].metric.value, 100.5);
  EXPECT_THAT(records[0].samples.at(0).values, ElementsAre(101.5, 99.5, 100.5));
  EXPECT_EQ(records[0].metric.direction, Direction::kLowerIsBetter);
  EXPECT_EQ(records[0].device, "NVIDIA A100");
  EXPECT_EQ(records[0].environment->git_sha, "c0ffee");
  EXPECT_EQ(records[0].environment->dependencies.at("triton").version, "3.1");
  EXPECT_EQ(records[0].environment, records[1].environment) << "the rows repeat it";
  EXPECT_EQ(records[1].metric.value, 2.25) << "a number in quotes";
  EXPECT_EQ(records[1].metric.target, 2.0);
  EXPECT_TRUE(records[1].samples.empty());
  EXPECT_EQ(records[1].metric.direction, Direction::kHigherIsBetter);
}

TEST(OssV3Reader, ReadsAListAndOneObject) {
  const std::string row = R"({"benchmark": {"name": "b", "extra_info": {"n": 5}}, "model": {"name": "m"},
      "metric": {"name": "latency", "benchmark_values": [1.5]}})";
  EXPECT_EQ(read_text(row).size(), 1U);
  const std::vector<Record> records = read_text("[" + row + "," + row + "]");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_THAT(records[1].axes, ElementsAre(Pair("n", "5")));
}

TEST(OssV3Reader, ReadsBackWhatWeWrite) {
  Record written = measured("gemv", "1024", "int8", 10);
  written.metric = {"latency", "us", Direction::kLowerIsBetter, 2, 3.0, {}, true};
  written.samples = {{1, 1, 0, {2, 3}, {}, {}}, {2, 1, 0, {1.5}, {}, {}}};
  written.interval = Interval{1.5, 3, 0.95};
  written.limit = Limit{{{"read", 1 << 20, "linear", "", 2}}, 1, 0.5, {}, false};
  written.threads = 4;
  written.caches = "cold";
  written.environment = full_environment();
  const std::vector<Record> records = read_text(format_named("oss-v3").write({written, written}, "", "file"));
  ASSERT_EQ(records.size(), 2U);
  const Record& record = records[0];
  EXPECT_EQ(identity(record), identity(written));
  EXPECT_EQ(record.metric.unit, "ns");
  EXPECT_EQ(record.metric.value, 2000);
  EXPECT_EQ(record.metric.target, 3000.0);
  ASSERT_EQ(record.samples.size(), 2U);
  EXPECT_THAT(record.samples[0].values, ElementsAre(2000, 3000));
  ASSERT_TRUE(record.interval);
  EXPECT_EQ(record.interval->low, 1500);
  ASSERT_TRUE(record.limit);
  EXPECT_EQ(record.limit->value, 1000);
  EXPECT_EQ(record.environment->machines[0].cpu_info, "A CPU");
}

TEST(OssV3Reader, GivesOurOwnRecordsTheIdentityTheyHadInJson) {
  Record record = measured("mlp", "1024", "bf16", 10);
  record.axes = {{"dtype", "bf16"}, {"batch", "8"}, {"D", "1024"}, {"device", "x"}, {"empty", ""}};
  record.benchmark.extra_info = {{"group", "g"}, {"arch", "a CPU"}};
  record.device = "";
  record.samples = {{1, 1, 2, {9, 9.5, 10}, {}, {}}, {2, 1, 0, {10}, {}, {}}};
  record.environment = full_environment();
  const auto through = [&](const char* format) {
    return read_text(format_named(format).write({record}, "", "file")).at(0);
  };
  const Record oss = through("oss-v3"), json = through("headroom-json");
  EXPECT_EQ(identity(oss), identity(json));
  EXPECT_EQ(oss.axes, json.axes) << "and the order in which people know them";
  EXPECT_EQ(case_name(oss), "mlp dtype=bf16 batch=8 D=1024 device=x empty=");
  EXPECT_EQ(oss.benchmark.extra_info, json.benchmark.extra_info);
  ASSERT_EQ(oss.samples.size(), 2U);
  EXPECT_EQ(oss.samples[0].warmup, 2U);
  EXPECT_EQ(oss.samples[1].warmup, 0U);
}

TEST(OssV3Reader, ReadsTheLinesOfTheGptFastBenchmark) {
  const std::string line =
      R"row({"benchmark": {"name": "PyTorch gpt-fast benchmark", "mode": "inference", "dtype": "int8", )row"
      R"row("extra_info": {"device": "cuda", "arch": "A100"}}, "model": {"name": "gemv", "origins": ["x"]}, )row"
      R"row("metric": {"name": "memory_bandwidth(GB/s)", "benchmark_values": ["904.11"], "target_value": ""}})row";
  const std::vector<Record> records = read_text(line + "\n" + line + "\n");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].metric.value, 904.11);
  EXPECT_EQ(records[1].metric.unit, "GB/s");
  EXPECT_FALSE(records[1].metric.target);
  EXPECT_EQ(records[1].device, "cuda");
}

TEST(OssV3Reader, RefusesWhatCannotBe) {
  const auto row = [](const std::string& metric) {
    return R"([{"benchmark": {"name": "b"}, "model": {"name": "m"}, "metric": )" + metric + "}]";
  };
  EXPECT_THAT(refusal(row(R"({"name": "x", "benchmark_values": []})")),
              HasSubstr("file: /0/metric/benchmark_values: is empty"));
  EXPECT_THAT(refusal(row(R"({"name": "x", "benchmark_values": [1, "fast"]})")),
              HasSubstr("/0/metric/benchmark_values/1: expected a finite number, found fast"));
  EXPECT_THAT(refusal(row(R"({"name": "x", "benchmark_values": [NaN]})")), HasSubstr("found NaN"));
  EXPECT_THAT(refusal(row(R"({"benchmark_values": [1]})")), HasSubstr("/0/metric/name: missing"));
  EXPECT_THAT(refusal(R"([{"metric": {"benchmark_values": [1]}, "benchmark": {)"),
              HasSubstr("not JSON at byte"));
  EXPECT_THAT(message_of([] { records_from_oss_v3("[]", "file"); }), HasSubstr("the list is empty"));
}

TEST(SeedCsvReader, ReadsRowsByTheNamesOfTheHeader) {
  const std::vector<Record> records = read_records(reader_file("gpt_fast.csv"));
  ASSERT_EQ(records.size(), 8U);
  EXPECT_EQ(records[1].model.name, "layer_norm");
  EXPECT_EQ(records[1].metric.name, "memory_bandwidth(GB/s)");
  EXPECT_EQ(records[1].metric.value, 1017.25);
  EXPECT_EQ(records[1].metric.target, 950.0);
  EXPECT_EQ(records[1].metric.direction, Direction::kHigherIsBetter);
  EXPECT_EQ(records[1].benchmark.dtype, "bfloat16");
  EXPECT_EQ(records[6].benchmark.extra_info.at("arch"), "NVIDIA A100-SXM4-40GB, \"PCIe\"");
  EXPECT_EQ(records[6].model.type, "OSS model");
  EXPECT_EQ(records[7].metric.direction, Direction::kLowerIsBetter);
  for (const Record& record : records) EXPECT_TRUE(record.samples.empty());
}

TEST(SeedCsvReader, RefusesWhatCannotBe) {
  const std::string header = "name,metric,target,actual\n";
  EXPECT_THAT(refusal(header), HasSubstr("no rows"));
  EXPECT_THAT(refusal(header + "a,latency,,fast\n"),
              HasSubstr("file: row 2, column actual: expected a finite number, found 'fast'"));
  EXPECT_THAT(refusal(header + "a,latency,,nan\n"), HasSubstr("found 'nan'"));
  EXPECT_THAT(refusal(header + "a,latency,,\n"), HasSubstr("column actual: is empty"));
  EXPECT_THAT(refusal(header + "a,latency\n"), HasSubstr("column actual: is empty"));
  EXPECT_THAT(refusal(header + "a,\"latency\n"), HasSubstr("line 2"));
}

}  // namespace
}  // namespace headroom
