// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reader_data.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
  EXPECT_THAT(one, testing::MatchesRegex("build-7-x-[0-9a-f]+"));
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
  EXPECT_THAT(records[0].notes,
              ElementsAre(HasSubstr("counter 'b' is NaN"), HasSubstr("counter 'c' is NaN")));
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
  const std::vector<Record> records = read_text(
      file_with(R"({"name": "A", "real_time": 2, "cpu_time": 1}, {"name": "A_mean", "real_time": 9,)"
                R"("cpu_time": 9}, {"name": "A_BigO", "cpu_coefficient": 1, "big_o": "N"})"));
  EXPECT_THAT(metric_names(records), ElementsAre("latency", "cpu_time"));
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
  EXPECT_THAT(refusal(file_with(R"({"name": "a", "run_type": "aggregate"})")), HasSubstr("aggregates only"));
  EXPECT_THAT(refusal(file_with("7")), HasSubstr("/benchmarks/0: expected an object"));
  EXPECT_THAT(refusal(file_with(run(R"("real_time": NaN, "cpu_time": )"))), HasSubstr("not JSON at byte"));
}

}  // namespace
}  // namespace headroom
