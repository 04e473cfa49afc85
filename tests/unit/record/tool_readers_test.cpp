// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "headroom/base/json.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/ddp_report_walk.h"
#include "sample_records.h"

namespace headroom {
namespace {

using namespace testing;

std::vector<std::string> shown_names(const std::vector<Record>& records) {
  std::vector<std::string> names;
  for (const Record& record : records) {
    if (record.metric.headline) names.push_back(record.model.name);
  }
  return names;
}

std::vector<std::string> names_of(const std::vector<Record>& records, const std::string& metric) {
  std::vector<std::string> names;
  for (const Record& record : records) {
    if (record.metric.name == metric) names.push_back(record.model.name);
  }
  return names;
}

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
  EXPECT_THAT(metric_names(records), ElementsAre("latency", "peak_memory", "exit_code", "latency"));
  EXPECT_THAT(sentences(records[0].notes), ElementsAre(HasSubstr("2 of 3 runs of the command failed")));
  EXPECT_THAT(records[2].samples.at(0).values, ElementsAre(0, 1, -1));
  EXPECT_EQ(records[1].metric.value, 4096);
  EXPECT_EQ(records[1].metric.unit, "B");
  EXPECT_EQ(records[3].metric.value, 1.5);
  EXPECT_TRUE(records[3].samples.empty()) << "a number without samples has none";
}

TEST(HyperfineReader, ACommandHasTheNameThatTheResultsAgreeOn) {
  const auto names = [](const std::string& results) {
    return shown_names(read_text(R"({"results": [)" + results + "]}"));
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

TEST(HyperfineReader, WritesBackTheExitCodesOfFailedRuns) {
  const std::string text = R"({"results": [{"command": "x", "times": [1, 2, 3], "exit_codes": [0, 1, null]},)"
                           R"({"command": "y", "times": [1, 2], "exit_codes": [0, 0]}]})";
  const Json results = parse_json(hyperfine_json(read_text(text), "out"), "out")["results"];
  EXPECT_EQ(dump_json(results[0]["exit_codes"]), "[0,1,null]");
  EXPECT_EQ(dump_json(results[1]["exit_codes"]), "[0,0]");
}

TEST(HyperfineReader, WritesTheExitCodesThatThereAre) {
  const std::string text = R"({"results": [{"command": "x", "times": [1, 2, 3], "exit_codes": [0, 1]},)"
                           R"({"command": "y", "times": [1], "exit_codes": [0, null, 7]}]})";
  const Json results = parse_json(hyperfine_json(read_text(text), "out"), "out")["results"];
  EXPECT_EQ(dump_json(results[0]["exit_codes"]), "[0,1]") << "no run was ended by a signal";
  EXPECT_EQ(dump_json(results[1]["exit_codes"]), "[0,null,7]");
}

TEST(HyperfineReader, KeepsCommandsOfOneNameApart) {
  const std::string text =
      R"({"results": [{"command": "make", "times": [1, 1], "user": 0.5, "exit_codes": [0, 2]},)"
      R"({"command": "ls", "times": [7]}, {"command": "make", "times": [5, 5], "user": 4},)"
      R"({"command": "make", "times": [9], "exit_codes": [3]}]})";
  const std::vector<Record> records = read_text(text);
  EXPECT_THAT(shown_names(records), ElementsAre("make", "ls", "make (2)", "make (3)"));
  EXPECT_THAT(names_of(records, "user_time"), ElementsAre("make", "make (2)"));
  EXPECT_THAT(names_of(records, "exit_code"), ElementsAre("make", "make (3)"));
  const Json results = parse_json(hyperfine_json(records, "out"), "out")["results"];
  EXPECT_EQ(results[2]["command"], "make");
  EXPECT_EQ(dump_json(results[0]["exit_codes"]), "[0,2]");
  EXPECT_EQ(dump_json(results[2]["exit_codes"]), "[0,0]");
  EXPECT_EQ(results[2]["user"], 4);
}

TEST(HyperfineReader, ANumberedNameIsNotThatOfAnotherCommand) {
  const std::string text = R"({"results": [{"command": "a", "times": [1]}, {"command": "a", "times": [2]},)"
                           R"~({"command": "a (2)", "times": [3]}]})~";
  const std::vector<Record> records = read_text(text);
  EXPECT_EQ(records.size(), 3U);
  EXPECT_EQ(records[2].model.name, "a (2)");
  EXPECT_NE(records[1].model.name, "a (2)");
  EXPECT_NE(records[1].model.name, "a");
}

TEST(HyperfineReader, TimesHaveAnInterval) {
  const auto latency = [](const std::string& times) {
    return read_text(R"({"results": [{"command": "x", "times": [)" + times + "]}]}")[0];
  };
  const Record record = latency("1.0, 1.2, 1.1, 1.3, 0.9, 1.15, 1.05, 1.0");
  ASSERT_TRUE(record.interval);
  EXPECT_TRUE(record.interval->contains(record.metric.value));
  EXPECT_FALSE(latency("1.0, 1.1, 1.2").interval) << "too few";
}

TEST(HyperfineReader, ACommandThatWasGivenUpHasNoResult) {
  std::vector<Record> records =
      read_text(R"({"results": [{"command": "x", "times": [1, 2]}, {"command": "y", "times": [3]}]})");
  records[0].outcome = {Outcome::Kind::kFailed, "exit code 1 (in run 3)"};
  const auto written = [&] {
    return parse_json(format_named("hyperfine").write(records, "", "out"), "out")["results"];
  };
  ASSERT_EQ(written().size(), 1U);
  EXPECT_EQ(written()[0]["command"], "y");
  records[1].outcome = records[0].outcome;
  EXPECT_TRUE(written().empty());
}

TEST(HyperfineReader, ReadsTheOthersBesideACommandWithoutATime) {
  const std::vector<Record> records =
      read_text(R"({"results": [{"command": "x", "times": [0.0, 1]}, {"command": "y", "times": [2]},)"
                R"({"command": "z", "mean": 0}]})");
  EXPECT_THAT(metric_names(records), ElementsAre("latency", "latency", "latency"));
  EXPECT_EQ(records[0].outcome.kind, Outcome::Kind::kFailed);
  EXPECT_THAT(records[0].outcome.reason, HasSubstr("/results/0/times/0: expected a time above zero"));
  EXPECT_EQ(records[1].metric.value, 2);
  EXPECT_THAT(records[2].outcome.reason, HasSubstr("/results/2/mean"));
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
  EXPECT_EQ(records[0].environment->machines.at(0).gpu_info, "NVIDIA A100-SXM4-80GB");
}

TEST(NvbenchReader, TellsSkippedStatesAndMissingSamples) {
  const std::vector<Record> records = read_records(reader_file("nvbench.json"));
  EXPECT_EQ(records[3].outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_EQ(records[3].outcome.reason, "Not supported by this device.");
  EXPECT_DOUBLE_EQ(records[4].metric.value, 0.0005);
  EXPECT_TRUE(records[4].samples.empty());
  EXPECT_THAT(sentences(records[4].notes), ElementsAre(HasSubstr("7.bin' is not in the folder")));
}

TEST(NvbenchReader, RefusesASidecarOfAnotherSize) {
  const std::string text =
      R"({"meta": {"version": {"nvbench": {}}}, "benchmarks": [{"name": "b", "states": [{"summaries": [)"
      R"({"tag": "nv/json/bin:nv/cold/sample_times", "data": [{"name": "filename", "value":)"
      R"( "nvbench.json-bin/0.bin"}, {"name": "size", "value": "4"}]}]}]}]})";
  EXPECT_THAT(message_of([&] { records_from_text(PaddedText(text), reader_file("x.json")); }),
              HasSubstr("0.bin: holds 5 samples, but"));
}

std::string nvbench_state(const std::string& summaries) {
  return R"({"meta": {"version": {"nvbench": {}}}, "devices": [{"id": 0, "name": "GPU"}], "benchmarks": [{"name":)"
         R"( "parse", "states": [{"device": null, "axis_values": [], "summaries": [)" +
         summaries + "]}]}]}";
}

std::string nvbench_number(const std::string& tag, const std::string& value) {
  return R"({"tag": ")" + tag + R"(", "data": [{"name": "value", "value": ")" + value + R"("}]})";
}

TEST(NvbenchReader, KeepsStatesOfOneNameApart) {
  const std::string state = R"({"device": null, "axis_values": [], "summaries": [)" +
                            nvbench_number("nv/cpu_only/time/cpu/mean", "0.002") + "]}";
  const std::vector<Record> records =
      read_text(R"({"meta": {"version": {"nvbench": {}}}, "benchmarks": [{"name": "b", "states": [)" + state +
                "," + state + "]}]}");
  EXPECT_THAT(shown_names(records), ElementsAre("b", "b (2)"));
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

TEST(PytestBenchmarkReader, KeepsTestsOfOneNameApart) {
  const std::string one = R"({"fullname": "t", "stats": {"median": 2}})";
  EXPECT_THAT(shown_names(read_text(R"({"machine_info": {}, "benchmarks": [)" + one + "," + one + "]}")),
              ElementsAre("t", "t (2)"));
  const auto with = [](const std::string& value) {
    return R"({"fullname": "t", "params": {"n": )" + value + R"(}, "stats": {"median": 2}})";
  };
  EXPECT_THAT(
      shown_names(read_text(R"({"machine_info": {}, "benchmarks": [)" + with("1") + "," + with("2") + "]}")),
      ElementsAre("t", "t"))
      << "its parameters tell them apart";
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
  EXPECT_EQ(records[0].environment->machines.at(0).cpu_info, "Intel(R) Xeon(R)");
}

TEST(LlamaBenchReader, ReadsAListAndAnAverageWithoutSamples) {
  const std::vector<Record> records = read_text(
      R"([{"build_commit": "a", "model_type": "m", "n_prompt": 10, "n_gen": 0, "n_batch": 64, "avg_ns": 1000}])");
  EXPECT_EQ(case_name(records[0]), "m n_prompt=10 n_gen=0");
  EXPECT_EQ(records[0].environment->extra_info.at("n_batch"), "64");
  EXPECT_EQ(records[0].metric.value, 1e7);
  EXPECT_TRUE(records[0].samples.empty());
}

TEST(LlamaBenchReader, EverySettingThatTellsRowsApartIsAnAxis) {
  const auto cases = [](const std::vector<std::string>& rows) {
    std::string text;
    for (const std::string& row : rows) {
      text += R"({"build_commit": "a", "model_type": "m", "n_prompt": 8, "n_gen": 0, "avg_ns": 1000, )" +
              row + "}\n";
    }
    std::vector<std::string> names;
    for (const Record& record : read_text(text)) {
      if (record.metric.headline) names.push_back(case_name(record));
    }
    return names;
  };
  const std::string base = "m n_prompt=8 n_gen=0";
  EXPECT_THAT(cases({R"("n_cpu_moe": 0, "n_batch": 64)", R"("n_cpu_moe": 40, "n_batch": 64)"}),
              ElementsAre(base + " n_cpu_moe=0", base + " n_cpu_moe=40"));
  EXPECT_THAT(cases({R"("model_filename": "a.gguf")", R"("model_filename": "b.gguf")"}),
              ElementsAre(base + " model_filename=a.gguf", base + " model_filename=b.gguf"));
  EXPECT_THAT(cases({R"("of_next_year": "x")", R"("of_next_year": "y")"}),
              ElementsAre(base + " of_next_year=x", base + " of_next_year=y"));
  EXPECT_THAT(cases({R"("n_cpu_moe": 40)", R"("avg_ts": 1)"}), ElementsAre(base + " n_cpu_moe=40", base));
  EXPECT_THAT(cases({R"("n_cpu_moe": 0)", R"("avg_ts": 1)"}), ElementsAre(base, base))
      << "a row of a version without the setting";
  EXPECT_THAT(cases({R"("stddev_ns": 1, "avg_ts": 5, "samples_ts": [1], "test_time": "x")",
                     R"("stddev_ns": 2, "avg_ts": 6, "samples_ts": [2], "test_time": "y")"}),
              ElementsAre(base, base));
}

TEST(LlamaBenchReader, AModelIsKnownByItsType) {
  const std::string rest = R"("build_commit": "a", "n_prompt": 8, "n_gen": 0, "avg_ns": 1000})";
  const std::vector<Record> records =
      read_text(R"({"model_type": "m", "model_filename": "m.gguf", "model_size": 1, )" + rest + "\n" +
                R"({"model_type": "n", "model_filename": "n.gguf", "model_size": 2, )" + rest);
  EXPECT_EQ(case_name(records[0]), "m n_prompt=8 n_gen=0");
  EXPECT_EQ(case_name(records[2]), "n n_prompt=8 n_gen=0");
}

TEST(LlamaBenchReader, BuildsInOneFileAreApart) {
  const std::string rest = R"("model_type": "m", "n_prompt": 8, "n_gen": 0, "avg_ns": 1000})";
  const std::vector<Record> records =
      read_text(R"({"build_commit": "a", )" + rest + "\n" + R"({"build_commit": "b", )" + rest);
  EXPECT_EQ(case_name(records[0]), "m n_prompt=8 n_gen=0 build_commit=a");
  EXPECT_EQ(case_name(records[2]), "m n_prompt=8 n_gen=0 build_commit=b");
}

TEST(LlamaBenchReader, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal("{\"build_commit\": \"a\", \"avg_ns\": 1, \"n_prompt\": 1, \"n_gen\": 0}\n\n"
                      "{\"build_commit\": \"a\", \"avg_ns\": -1, \"n_prompt\": 1, \"n_gen\": 0}\n"),
              HasSubstr("file: line 3: /avg_ns: expected a time above zero"));
  EXPECT_THAT(refusal("{\"build_commit\": \"a\", \"avg_ns\": 1}\n{\"avg_ns\"\n"),
              HasSubstr("file: line 2: not JSON at byte"));
}

std::string file_with(const std::string& benchmarks) {
  return R"({"context": {"date": "2026-11-21T02:25:21+01:00", "host_name": "vm", "num_cpus": 2,)"
         R"("library_build_type": "release"}, "benchmarks": [)" +
         benchmarks + "]}";
}

std::string run(const std::string& rest) {
  return R"({"name": "BM", "run_name": "BM", "run_type": "iteration", "threads": 1, "iterations": 10, )" +
         rest + "}";
}

TEST(GoogleBenchmarkReader, JoinsRepetitionsAndLeavesAggregatesOut) {
  const std::vector<Record> records = read_text(file_with(
      run(R"("real_time": 4.0, "cpu_time": 3.0, "time_unit": "us", "items_per_second": 10.0)") + "," +
      run(R"("real_time": 2.0, "cpu_time": 0.0, "time_unit": "us", "items_per_second": 20.0)") +
      R"(, {"name": "BM_mean", "run_name": "BM", "run_type": "aggregate", "real_time": 99, "cpu_time": 99},)"
      R"({"name": "Other", "run_name": "Other", "run_type": "iteration", "real_time": 1, "cpu_time": 1}])"
      R"(, "x": [1)"));
  EXPECT_THAT(metric_names(records),
              ElementsAre("latency", "cpu_time", "items_per_second", "latency", "cpu_time"));
  ASSERT_EQ(records[0].samples.size(), 1U);
  EXPECT_THAT(records[0].samples[0].values, ElementsAre(4000, 2000));
  EXPECT_EQ(records[0].samples[0].iterations, 10U);
  EXPECT_EQ(records[0].metric.value, 3000);
  EXPECT_EQ(records[0].metric.unit, "ns");
  EXPECT_THAT(records[1].samples[0].values, ElementsAre(3000, 0));
  EXPECT_EQ(records[2].metric.direction, Direction::kHigherIsBetter);
  EXPECT_EQ(records[3].model.name, "Other");
}

TEST(GoogleBenchmarkReader, TellsTheMachine) {
  const Record record = read_text(file_with(run(R"("real_time": 4, "cpu_time": 3)")))[0];
  EXPECT_EQ(record.environment->timestamp, 1795224321U);
  EXPECT_EQ(record.environment->machines[0].name, "vm");
  EXPECT_EQ(record.environment->machines[0].cpu_count, 2U);
  EXPECT_EQ(record.environment->extra_info.at("library_build_type"), "release");
}

TEST(GoogleBenchmarkReader, HostsAreMachinesOfTheirOwn) {
  const auto fingerprint = [](const std::string& context) {
    return read_text(R"({"context": {)" + context + R"(}, "benchmarks": [)" +
                     run(R"("real_time": 4, "cpu_time": 3)") + "]}")[0]
        .environment->fingerprint;
  };
  const std::string one = fingerprint(R"("host_name": "build 7/../x", "num_cpus": 2)");
  EXPECT_THAT(one, MatchesRegex("build-7-x-[0-9a-f]+"));
  EXPECT_EQ(fingerprint(R"("host_name": "build 7/../x", "num_cpus": 2, "mhz_per_cpu": 2000)"), one);
  EXPECT_NE(fingerprint(R"("host_name": "build 7/../x", "num_cpus": 4)"), one);
  EXPECT_NE(fingerprint(R"("host_name": "other", "num_cpus": 2)"), one);
  EXPECT_EQ(fingerprint(R"("num_cpus": 2)"), "") << "nothing is known of that machine";
}

TEST(GoogleBenchmarkReader, ReadsCountersThatAreNotFinite) {
  const std::vector<Record> records = read_text(file_with(
      run(R"("real_time": 4, "cpu_time": 3, "a": NaN, "b": -Infinity, "c": Infinity, "label": "NaN \" NaN")") +
      "," + run(R"("real_time": 4, "cpu_time": 3, "a": 7, "b": -NaN, "c": Infinity)")));
  EXPECT_THAT(metric_names(records), ElementsAre("latency", "cpu_time", "a"));
  EXPECT_THAT(records[2].samples[0].values, ElementsAre(7));
  EXPECT_THAT(sentences(records[0].notes),
              ElementsAre(HasSubstr("counter 'b' is NaN"), HasSubstr("counter 'c' is NaN")));
}

TEST(GoogleBenchmarkReader, NotSkippedIsMeasured) {
  for (const char* skipped : {"false", "null"}) {
    const std::vector<Record> records =
        read_text(file_with(run(fmt::format(R"("skipped": {}, "real_time": 1, "cpu_time": 1)", skipped))));
    EXPECT_EQ(records[0].outcome.kind, Outcome::Kind::kMeasured) << skipped;
  }
}

TEST(GoogleBenchmarkReader, AFailedBenchmarkIsAFailedCase) {
  const std::vector<Record> records = read_text(file_with(
      run(R"("error_occurred": true, "error_message": "no device", "real_time": 0, "cpu_time": 0)") +
      R"(, {"name": "S", "run_type": "iteration", "skipped": "SKIPPED", "skip_message": "not here"})"));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].outcome.kind, Outcome::Kind::kFailed);
  EXPECT_EQ(records[0].outcome.reason, "no device");
  EXPECT_EQ(records[1].outcome.reason, "not here");
}

TEST(GoogleBenchmarkReader, KnowsAggregatesOfOldVersions) {
  const std::string one = R"({"name": "A", "real_time": 2, "cpu_time": 1}, )";
  const std::string mean = R"({"name": "A_mean", "real_time": 9, "cpu_time": 9})";
  const std::vector<Record> records =
      read_text(file_with(one + one + mean + R"(, {"name": "A_BigO", "cpu_coefficient": 1, "big_o": "N"})"));
  EXPECT_THAT(metric_names(records), ElementsAre("latency", "cpu_time"));
  const auto names = [](const std::string& benchmarks) {
    return shown_names(read_text(file_with(benchmarks)));
  };
  EXPECT_THAT(names(mean + R"(, {"name": "column_median", "real_time": 9, "cpu_time": 9})"),
              ElementsAre("A_mean", "column_median"))
      << "real benchmarks: their repetitions are not there";
  EXPECT_THAT(names(one + mean), ElementsAre("A", "A_mean")) << "one repetition has no mean";
  EXPECT_THAT(names(R"({"name": "A_mean", "run_type": "iteration", "real_time": 9, "cpu_time": 9})"),
              ElementsAre("A_mean"));
}

std::string aggregate(const std::string& benchmark, const std::string& statistic, int ns) {
  return R"({"name": ")" + benchmark + "_" + statistic + R"(", "run_name": ")" + benchmark +
         R"(", "run_type": "aggregate", "aggregate_name": ")" + statistic + R"(", "real_time": )" +
         std::to_string(ns) + R"(, "cpu_time": 3, "items": 8})";
}

TEST(GoogleBenchmarkReader, TakesTheMedianOfABenchmarkWithoutRepetitions) {
  const std::vector<Record> records = read_text(file_with(
      aggregate("f", "mean", 6) + "," + aggregate("f", "median", 5) + "," + aggregate("f", "stddev", 1) +
      "," + run(R"("real_time": 4, "cpu_time": 3)") + "," + aggregate("BM", "median", 9) + "," +
      aggregate("g", "mean", 7) + "," + aggregate("h", "stddev", 1) + "," + aggregate("fit", "BigO", 1)));
  EXPECT_THAT(metric_names(records), ElementsAre("latency", "cpu_time", "items", "latency", "cpu_time",
                                                 "latency", "cpu_time", "items", "latency"));
  EXPECT_EQ(records[0].model.name, "f");
  EXPECT_EQ(records[0].metric.value, 5);
  EXPECT_TRUE(records[0].samples.empty());
  EXPECT_EQ(records[2].metric.value, 8);
  EXPECT_EQ(records[3].metric.value, 4) << "repetitions count, not their aggregates";
  EXPECT_EQ(records[3].samples.size(), 1U);
  EXPECT_EQ(records[5].model.name, "g");
  EXPECT_THAT(sentences(records[5].notes), ElementsAre(HasSubstr("is a mean")));
  EXPECT_EQ(records[8].model.name, "h");
  EXPECT_THAT(records[8].outcome.reason, HasSubstr("neither its repetitions nor"));
  EXPECT_EQ(read_text(file_with(aggregate("f", "median", 5)))[0].metric.value, 5) << "a file of aggregates";
}

std::string entry(const std::string& name, int family, int instance, int repetition, double ns) {
  return fmt::format(
      R"({{"name": "{0}", "run_name": "{0}", "run_type": "iteration", "family_index": {1},)"
      R"("per_family_instance_index": {2}, "repetition_index": {3}, "real_time": {4}, "cpu_time": {4}}})",
      name, family, instance, repetition, ns);
}

TEST(GoogleBenchmarkReader, KeepsBenchmarksOfOneNameApart) {
  const std::vector<Record> records = read_text(
      file_with(entry("f", 0, 0, 0, 1) + "," + entry("f", 0, 0, 1, 2) + "," + entry("f", 1, 0, 0, 50) + "," +
                entry("f", 1, 0, 1, 60) + "," + entry("f", 1, 1, 0, 70)));
  EXPECT_THAT(shown_names(records), ElementsAre("f", "f (2)", "f (3)"));
  EXPECT_THAT(names_of(records, "cpu_time"), ElementsAre("f", "f (2)", "f (3)"));
  EXPECT_THAT(records[0].samples.at(0).values, ElementsAre(1, 2)) << "repetitions are samples of one case";
  EXPECT_THAT(records[2].samples.at(0).values, ElementsAre(50, 60));
  EXPECT_THAT(records[4].samples.at(0).values, ElementsAre(70));
}

TEST(GoogleBenchmarkReader, ARepetitionThatComesAgainIsOfAnotherBenchmark) {
  const auto names = [](const std::string& benchmarks) {
    return shown_names(read_text(file_with(benchmarks)));
  };
  const std::string first = entry("f", 0, 0, 0, 1), second = entry("f", 0, 0, 1, 2);
  EXPECT_THAT(names(second + "," + first), ElementsAre("f")) << "interleaved at random";
  EXPECT_THAT(names(first + "," + second + "," + first), ElementsAre("f", "f (2)")) << "files put together";
  const std::string old = R"({"name": "f", "real_time": 1, "cpu_time": 1})";
  EXPECT_THAT(names(old + "," + old), ElementsAre("f")) << "repetitions of a version without indexes";
  const std::string both = aggregate("f", "mean", 6) + "," + aggregate("f", "median", 5);
  EXPECT_THAT(names(both + "," + both), ElementsAre("f", "f (2)"));
}

TEST(GoogleBenchmarkReader, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal(file_with(run(R"("real_time": 0, "cpu_time": 3)"))),
              HasSubstr("file: /benchmarks/0/real_time: expected a time above zero, found 0"));
  EXPECT_THAT(refusal(file_with(run(R"("real_time": NaN, "cpu_time": 3)"))),
              HasSubstr("/benchmarks/0/real_time: expected a finite number"));
  EXPECT_THAT(refusal(file_with(run(R"("real_time": "4", "cpu_time": 3)"))), HasSubstr("expected a number"));
  EXPECT_THAT(refusal(file_with(run(R"("real_time": 4, "cpu_time": -3)"))), HasSubstr("/cpu_time"));
  EXPECT_THAT(refusal(file_with(run(R"("real_time": 4, "cpu_time": 3, "time_unit": "h")"))),
              HasSubstr("'h'"));
  EXPECT_THAT(refusal(file_with("")), HasSubstr("/benchmarks: is empty"));
  EXPECT_THAT(refusal(file_with(R"({"name": "a", "run_type": "aggregate"})")), HasSubstr("only aggregates"));
  EXPECT_THAT(refusal(file_with("7")), HasSubstr("/benchmarks/0: expected an object"));
  EXPECT_THAT(refusal(file_with(run(R"("real_time": NaN, "cpu_time": )"))), HasSubstr("not JSON at byte"));
}

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

TEST(OssV3Reader, PrefersTheSamplesOfOurWriterToTheValues) {
  const std::vector<Record> records =
      read_text(R"({"benchmark": {"name": "b"}, "model": {"name": "m"}, "metric": {"name": "latency",)"
                R"("benchmark_values": [1, 2, 3], "extra_info": {"samples": "[[1.0,2.0],[3.0]]"}}})");
  ASSERT_EQ(records.size(), 1U);
  ASSERT_EQ(records[0].samples.size(), 2U);
  EXPECT_THAT(records[0].samples[0].values, ElementsAre(1, 2));
  EXPECT_THAT(records[0].samples[1].values, ElementsAre(3));
}

TEST(OssV3Reader, AnIntervalNeedsBothEndsAndItsConfidence) {
  const auto interval = [](const std::string& fields) {
    return read_text(R"({"benchmark": {"name": "b"}, "model": {"name": "m"}, "metric": {"name": "latency",)"
                     R"("benchmark_values": [2], "extra_info": {)" +
                     fields + "}}}")
        .at(0)
        .interval;
  };
  const std::string ends = R"("interval_low": "1", "interval_high": "3")";
  EXPECT_TRUE(interval(ends + R"(, "interval_confidence": "0.95")"));
  EXPECT_FALSE(interval(ends));
  EXPECT_FALSE(interval(R"("interval_low": "1", "interval_confidence": "0.95")"));
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

TEST(SeedCsvReader, NeedsItsThreeColumns) {
  EXPECT_EQ(read_text("metric,actual,name\nlatency,2,a\n").size(), 1U);
  for (const char* header : {"name,metric", "name,actual", "metric,actual", "actual"})
    EXPECT_THAT(refusal(std::string(header) + "\n1,2\n"), HasSubstr("headroom reads: headroom-json"))
        << header;
}

std::string tool_of(const std::string& text) {
  const Format* format = format_of_text(text);
  return format == nullptr ? "none" : format->name;
}

TEST(Recognition, GoesByTheKeysAtTheTop) {
  const std::string pytest =
      R"({"machine_info": {}, "benchmarks": [{"fullname": "t", "params": {"context": "4k"}, "stats": {"median": 1}}]})";
  EXPECT_EQ(tool_of(pytest), "pytest-benchmark") << "a parameter called context";
  EXPECT_EQ(read_text(pytest)[0].metric.value, 1);
  EXPECT_EQ(
      tool_of(
          R"({"results": [{"command": "x", "times": [1], "parameters": {"context": "1", "benchmarks": "2"}}]})"),
      "hyperfine");
  EXPECT_EQ(tool_of(file_with(run(R"("real_time": 4, "cpu_time": 3, "states": 7, "axes": 1, "meta": 2)"))),
            "google-benchmark")
      << "a counter called states";
  EXPECT_EQ(tool_of(file_with(run(R"("real_time": 4, "label": "\"headroom\": {\"command\": 1}")"))),
            "google-benchmark");
  EXPECT_EQ(tool_of(R"({"other": {"context": 1, "benchmarks": [], "headroom": 1, "benchmark_results": []}})"),
            "none");
}

TEST(Recognition, FindsKeysWhereverTheyStand) {
  const std::string large(100000, 'x');
  const std::string sorted = R"({"benchmarks": [)" +
                             run(R"("real_time": 4, "cpu_time": 3, "label": ")" + large + "\"") +
                             R"(], "context": {}})";
  EXPECT_EQ(tool_of(sorted), "google-benchmark");
  EXPECT_EQ(tool_of(R"({"other": ")" + large + R"(", "results": [{"times": [1], "command": "x"}]})"),
            "hyperfine");
  EXPECT_EQ(tool_of(R"({"a": [[{"b": "]}"}], {}], "benchmark_results": []})"), "ddp");
  EXPECT_EQ(tool_of(std::string(1000, ' ') + sorted), "google-benchmark");
  Record record;
  record.model.name = "m";
  const Json json = parse_json(to_json_text({record}), "t");
  const std::string ours = R"({"environments": )" + dump_json(json["environments"]) + R"(, "records": )" +
                           dump_json(json["records"]) + R"(, "headroom": )" + dump_json(json["headroom"]) +
                           "}";
  EXPECT_EQ(tool_of(ours), "headroom-json");
  EXPECT_EQ(read_text(ours).at(0).model.name, "m");
}

TEST(Recognition, AFormatCanBeForced) {
  const std::string hyperfine = R"({"results": [{"command": "x", "times": [1]}], "benchmarks": []})";
  const auto read_as = [](const std::string& text, const char* format) {
    return records_from_text(PaddedText(text), "file", &format_named(format));
  };
  EXPECT_EQ(read_as(hyperfine, "hyperfine").size(), 1U);
  EXPECT_EQ(read_as(R"({"results": [{"command": "x", "mean": 2}]})", "hyperfine")[0].metric.value, 2);
  const auto refused = [&](const std::string& text, const char* format) {
    return message_of([&] { read_as(text, format); });
  };
  EXPECT_THAT(refused(R"({"results": [{"command": "x", "times": [1]}]})", "google-benchmark"),
              AllOf(HasSubstr("cannot read it as google-benchmark: file: /benchmarks: missing"),
                    HasSubstr("its content looks like hyperfine")));
  EXPECT_THAT(refused("{}", "llama-bench"), HasSubstr("/build_commit: missing"));
  EXPECT_THAT(refused("7", "pytest-benchmark"), HasSubstr("cannot read it as pytest-benchmark: file: "));
  EXPECT_THAT(refused("{}", "seed-csv"), HasSubstr("file: row 1: no column 'name'"));
  EXPECT_THAT(refused("{}", "seed-jsonl"), HasSubstr("can be written but not read"));
  for (const std::string& format : readable_formats()) {
    for (const char* text :
         {"{}", "[]", "[7]", "{\"results\": 7, \"benchmarks\": 7}", "x,y\n1,2\n", "nothing"})
      EXPECT_THAT(refused(text, format.c_str()), HasSubstr("cannot read it as " + format + ": ")) << text;
  }
}

TEST(Recognition, NamesTheLineWhereTheJsonBegins) {
  const std::string json = file_with(run(R"("real_time": 4, "cpu_time": 3)"));
  EXPECT_THAT(
      refusal("note: debug build\n" + json),
      HasSubstr("line 1 is not JSON: 'note: debug build'; the JSON of Google Benchmark begins at line 2"));
  EXPECT_THAT(refusal("[info] a\n[info] b\n" + json), HasSubstr("begins at line 3"));
  EXPECT_THAT(refusal("{\"x\": [\n" + json + "\n]}"), HasSubstr("unknown file format"))
      << "a part of other JSON";
  EXPECT_THAT(refusal("note: debug build\n{\"x\": 1}"), HasSubstr("unknown file format"));
}

TEST(Recognition, NamesToolsThatAreNotRead) {
  const auto looks_like = [](const std::string& text, const std::string& tool) {
    EXPECT_THAT(refusal(text),
                AllOf(HasSubstr("looks like " + tool), HasSubstr(", which headroom does not read")))
        << text;
  };
  looks_like("fib 20    time:   [26.02 us 26.2 us 26.5 us]\n", "Criterion's text (read ");
  looks_like("benchmark name    samples   iterations   estimated\n", "Catch2's text (use --reporter xml)");
  looks_like(R"({"avg_latency": 1, "latencies": [1], "percentiles": {}})", "vllm bench latency");
  looks_like("WARNING: Criterion.rs\ntest fib ... bench:   329 ns/iter (+/- 4)\n", "Criterion's text");
  looks_like("test fib ... bench:   1911 MS/s (+/- 420)\n", "cargo bench");
  looks_like("fib(10) x 1,431,759 ops/sec ±0.74% (93 runs sampled)\n", "benchmark.js");
  looks_like(R"([{"Julia": "1.7", "BenchmarkTools": "1.0.0"}, [["BenchmarkGroup", {}]]])",
             "BenchmarkTools.jl");
  EXPECT_THAT(refusal(R"({"benchmarks": [{"name": "x"}]})"), Not(HasSubstr("looks like")));
}

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

/// Keeps the measurements after the first round.
class LaterRounds : DdpReportWalk {
 public:
  explicit LaterRounds(JsonReader& stream) : DdpReportWalk(stream, "file") { walk(); }
  std::vector<std::string> measurements;

 private:
  void take_field(const std::string&) override { stream().skip_value(); }
  void begin_model() override {}
  void take_model() override { stream().skip_value(); }
  void take_batch_size() override { stream().skip_value(); }
  void begin_rounds() override {}
  bool begin_round(std::size_t index) override { return index > 0; }
  void take_ranks() override { stream().skip_value(); }
  void take_measurements() override { measurements.push_back(stream().raw_value()); }
};

TEST(DdpReportWalk, LeavesOutTheRoundsThatNobodyWants) {
  const std::string text(
      report(R"({"ranks": [0], "measurements": [1]}, {"ranks": [0, 1], "measurements": [2]})"));
  JsonReader stream(text, "file");
  EXPECT_THAT(LaterRounds(stream).measurements, ElementsAre("[2]"));
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
