// SPDX-License-Identifier: Apache-2.0
// hyperfine, nvbench, pytest-benchmark and llama-bench.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reader_data.h"

namespace headroom {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(HyperfineReader, ReadsSamplesMeansAndParameters) {
  const std::vector<Record> records = read_records(reader_file("hyperfine.json"));
  EXPECT_THAT(metric_names(records),
              ElementsAre("latency", "user_time", "system_time", "latency", "user_time", "system_time"));
  EXPECT_EQ(case_name(records[0]), "sleep {n} n=0.001") << "as headroom ab has it";
  EXPECT_EQ(records[0].model.extra_info.at("title"), "sleep 0.001");
  EXPECT_THAT(records[0].samples.at(0).values,
              ElementsAre(0.003784626, 0.0032136210000000003, 0.0016284810000000002));
  EXPECT_EQ(records[0].metric.value, 0.0032136210000000003);
  EXPECT_TRUE(records[1].samples.empty());
  EXPECT_EQ(records[2].metric.value, 0) << "a short command may take no system time";
  EXPECT_THAT(records[3].axes, ElementsAre(Pair("n", "0.002")));
}

TEST(HyperfineReader, TellsOfMemoryAndFailedRuns) {
  const std::vector<Record> records =
      read_text(R"({"results": [{"command": "x", "mean": 1, "times": [1, 2, 3], "exit_codes": [0, 1, null],)"
                R"("memory_usage_byte": [4096, 8192, 4096]}, {"command": "y", "mean": 2, "median": 1.5}]})");
  EXPECT_THAT(metric_names(records), ElementsAre("latency", "peak_memory", "latency"));
  EXPECT_THAT(records[0].notes, ElementsAre(HasSubstr("2 of 3 runs of the command failed")));
  EXPECT_EQ(records[1].metric.value, 4096);
  EXPECT_EQ(records[1].metric.unit, "B");
  EXPECT_EQ(records[2].metric.value, 1.5);
  EXPECT_TRUE(records[2].samples.empty()) << "a number without samples has none";
}

TEST(HyperfineReader, ACommandHasTheNameThatTheResultsAgreeOn) {
  const auto names = [](const std::string& results) {
    std::vector<std::string> found;
    for (const Record& record : read_text(R"({"results": [)" + results + "]}"))
      found.push_back(record.model.name);
    return found;
  };
  const auto result = [](const std::string& command, const std::string& parameters) {
    return R"({"command": ")" + command + R"(", "mean": 1, "times": [1], "parameters": {)" + parameters +
           "}}";
  };
  EXPECT_THAT(names(result("a -8 10", R"("j": "8", "n": "10")")), ElementsAre("a -{j} {n}"));
  EXPECT_THAT(names(result("a -8 18", R"("j": "8", "n": "18")")), ElementsAre("a -{j} {n}")) << "the longest";
  EXPECT_THAT(names(result("gzip -1 f1", R"("n": "1")") + "," + result("gzip -3 f1", R"("n": "3")") + "," +
                    result("gzip -9 f1", R"("n": "9")")),
              ElementsAre("gzip -1 f1", "gzip -{n} f1", "gzip -{n} f1"))
      << "nothing tells which of the two is meant";
  EXPECT_THAT(names(result("a", "")), ElementsAre("a"));
}

TEST(HyperfineReader, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal(R"({"results": [], "command": 1, "mean": 2})"), HasSubstr("/results: is empty"));
  EXPECT_THAT(refusal(R"({"results": [{"command": "x", "times": []}]})"),
              HasSubstr("/results/0/times: is empty"));
  EXPECT_THAT(refusal(R"({"results": [{"command": "x", "times": [1, -2]}]})"),
              HasSubstr("/results/0/times/1: expected a time above zero, found -2"));
  EXPECT_THAT(refusal(R"({"results": [{"command": "x", "times": [NaN]}]})"),
              HasSubstr("/times/0: expected a time"));
  EXPECT_THAT(refusal(R"({"results": [{"command": 5, "times": [1]}]})"),
              HasSubstr("/results/0/command: expected a string"));
  EXPECT_THAT(refusal(R"({"results": [{"command": "x", "times": [1)"), HasSubstr("not JSON at byte"));
}

TEST(NvbenchReader, ReadsTheSamplesBesideTheFile) {
  const std::vector<Record> records = read_records(reader_file("nvbench.json"));
  EXPECT_THAT(metric_names(records),
              ElementsAre("latency", "batch_latency", "memory_bandwidth(GB/s)", "latency", "latency"));
  EXPECT_EQ(case_name(records[0]), "copy T=F32 Elements=65536");
  EXPECT_EQ(records[0].device, "cuda");
  EXPECT_EQ(records[0].benchmark.extra_info.at("arch"), "NVIDIA A100-SXM4-80GB");
  ASSERT_EQ(records[0].samples.size(), 1U);
  EXPECT_EQ(records[0].samples[0].values.size(), 5U);
  EXPECT_FLOAT_EQ(static_cast<float>(records[0].metric.value), 0.00101F);
  EXPECT_DOUBLE_EQ(records[2].metric.value, 1200);
  EXPECT_EQ(records[0].environment->command.front(), "./copy");
}

TEST(NvbenchReader, TellsSkippedStatesAndMissingSamples) {
  const std::vector<Record> records = read_records(reader_file("nvbench.json"));
  EXPECT_EQ(records[3].outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_EQ(records[3].outcome.reason, "Not supported by this device.");
  EXPECT_DOUBLE_EQ(records[4].metric.value, 0.0005);
  EXPECT_TRUE(records[4].samples.empty());
  EXPECT_THAT(records[4].notes, ElementsAre(HasSubstr("7.bin' is not beside")));
}

TEST(NvbenchReader, RefusesASidecarOfAnotherSize) {
  const std::string text =
      R"({"meta": {"version": {"nvbench": {}}}, "benchmarks": [{"name": "b", "states": [{"summaries": [)"
      R"({"tag": "nv/json/bin:nv/cold/sample_times", "data": [{"name": "filename", "value":)"
      R"( "nvbench.json-bin/0.bin"}, {"name": "size", "value": "4"}]}]}]}]})";
  EXPECT_THAT(message_of([&] { records_from_text(PaddedText(text), reader_file("x.json")); }),
              HasSubstr("0.bin: holds 5 samples where"));
}

std::string nvbench_state(const std::string& summaries) {
  return R"({"meta": {"version": {"nvbench": {}}}, "devices": [{"id": 0, "name": "GPU"}], "benchmarks": [{"name":)"
         R"( "parse", "states": [{"device": null, "axis_values": [], "summaries": [)" +
         summaries + "]}]}]}";
}

std::string nvbench_number(const std::string& tag, const std::string& value) {
  return R"({"tag": ")" + tag + R"(", "data": [{"name": "value", "value": ")" + value + R"("}]})";
}

TEST(NvbenchReader, ReadsBenchmarksOfTheCpuAlone) {
  const std::string numbers = nvbench_number("nv/cpu_only/sample_size", "5") + "," +
                              nvbench_number("nv/cpu_only/time/cpu/mean", "0.002") + "," +
                              nvbench_number("nv/cpu_only/time/cpu/stdev/relative", "0.05") + "," +
                              nvbench_number("nv/cpu_only/bw/item_rate", "7000");
  const std::vector<Record> records = read_text(nvbench_state(numbers));
  EXPECT_THAT(metric_names(records), ElementsAre("latency", "items_per_second"));
  for (const Record& record : records) EXPECT_EQ(record.device, "cpu");
  EXPECT_EQ(records[0].metric.value, 0.002);
  EXPECT_THAT(records[0].notes, ElementsAre()) << "nobody expects a GPU time";
  EXPECT_EQ(records[1].metric.value, 7000);

  const std::string samples =
      R"({"tag": "nv/json/bin:nv/cpu_only/sample_times", "data": [{"name": "filename", "value":)"
      R"( "nvbench.json-bin/0.bin"}, {"name": "size", "value": "5"}]})";
  const std::vector<Record> sampled =
      records_from_text(PaddedText(nvbench_state(numbers + "," + samples)), reader_file("x.json"));
  EXPECT_EQ(sampled.at(0).samples.at(0).values.size(), 5U);
}

TEST(PytestBenchmarkReader, ReadsSamplesAndParameters) {
  const std::vector<Record> records = read_records(reader_file("pytest_benchmark.json"));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(case_name(records[0]), "tests/test_sum.py::test_sum[1024] dtype=float32 n=1024");
  EXPECT_THAT(records[0].samples.at(0).values, ElementsAre(1.1e-05, 1.0e-05, 1.2e-05, 1.4e-05, 1.1e-05));
  EXPECT_EQ(records[0].samples[0].iterations, 10U);
  EXPECT_EQ(records[0].benchmark.extra_info.at("group"), "sum");
  EXPECT_EQ(records[0].environment->git_sha, "4f1c9a02");
  EXPECT_EQ(records[0].environment->timestamp, 1772359500U);
  EXPECT_EQ(records[0].environment->machines[0].cpu_info, "AMD EPYC 7543");
  EXPECT_TRUE(records[1].samples.empty()) << "saved without its data";
  EXPECT_EQ(records[1].metric.value, 2.5e-06);
}

TEST(PytestBenchmarkReader, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal(R"({"machine_info": {}, "benchmarks": []})"), HasSubstr("/benchmarks: is empty"));
  EXPECT_THAT(refusal(R"({"machine_info": {}, "benchmarks": [{"name": "a", "stats": {"median": 0}}]})"),
              HasSubstr("/benchmarks/0/stats/median: expected a time above zero"));
  EXPECT_THAT(refusal(R"({"machine_info": {}, "benchmarks": [{"name": "a"}]})"),
              HasSubstr("/benchmarks/0/stats: missing"));
}

TEST(LlamaBenchReader, ReadsRatesAndTimes) {
  const std::vector<Record> records = read_records(reader_file("llama_bench.jsonl"));
  EXPECT_THAT(metric_names(records), ElementsAre("token_per_sec", "latency", "token_per_sec", "latency"));
  EXPECT_EQ(case_name(records[0]), "llama 7B Q4_0 n_prompt=512 n_gen=0");
  EXPECT_THAT(records[0].samples.at(0).values,
              ElementsAre(128, DoubleNear(512 / 4.1, 1e-12), DoubleNear(512 / 4.05, 1e-12)));
  EXPECT_EQ(records[0].metric.direction, Direction::kHigherIsBetter);
  EXPECT_EQ(records[1].metric.value, 4.05e9);
  EXPECT_EQ(records[0].threads, 8);
  EXPECT_EQ(records[0].model.backend, "CPU");
  EXPECT_EQ(records[0].environment, records[2].environment);
  EXPECT_EQ(records[0].environment->dependencies.at("llama.cpp").sha, "3a4fb2e1");
}

TEST(LlamaBenchReader, ReadsAListAndAnAverageWithoutSamples) {
  const std::vector<Record> records = read_text(
      R"([{"build_commit": "a", "model_type": "m", "n_prompt": 10, "n_gen": 0, "n_batch": 64, "avg_ns": 1000}])");
  EXPECT_EQ(case_name(records[0]), "m n_prompt=10 n_gen=0 n_batch=64");
  EXPECT_EQ(records[0].metric.value, 1e7);
  EXPECT_TRUE(records[0].samples.empty());
}

TEST(LlamaBenchReader, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal("{\"build_commit\": \"a\", \"avg_ns\": 1, \"n_prompt\": 1, \"n_gen\": 0}\n\n"
                      "{\"build_commit\": \"a\", \"avg_ns\": -1, \"n_prompt\": 1, \"n_gen\": 0}\n"),
              HasSubstr("file: line 3: /avg_ns: expected a time above zero"));
  EXPECT_THAT(refusal("{\"build_commit\": \"a\", \"avg_ns\": 1}\n{\"avg_ns\"\n"),
              HasSubstr("file: line 2: not JSON at byte"));
}

}  // namespace
}  // namespace headroom
