// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <random>

#include "../error_message.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/ranks/ddp/ddp.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using namespace testing;

std::vector<std::string> labels(const DdpSweep& sweep) {
  std::vector<std::string> labels;
  for (const DdpStep& step : ddp_steps(sweep, "mlp")) labels.push_back(step.label);
  return labels;
}

TEST(DdpPlan, IsPytorchsSweepAsFarAsTheWorldHasRanks) {
  DdpSweep sweep;
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1M/1G"));
  sweep.world = 6;
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1M/1G", "1M/2G", "1M/4G"));
  sweep.world = 24;
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1M/1G", "1M/2G", "1M/4G", "1M/8G", "2M/8G", "3M/8G"));
  EXPECT_EQ(ddp_steps(sweep, "mlp").back().ranks, 24);
}

TEST(DdpPlan, TakesAListOfRanksInOrder) {
  DdpSweep sweep;
  sweep.world = 4;
  sweep.ranks = {4, 1, 3};
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1 rank", "3 ranks", "4 ranks"));
}

TEST(DdpPlan, RepeatsOnlyWhatReducesForEachBucketSize) {
  DdpSweep sweep;
  sweep.world = 2;
  sweep.ranks = {2};
  sweep.bucket_bytes = {1 << 20, 2 << 20};
  const std::vector<DdpStep> steps = ddp_steps(sweep, "mlp");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_FALSE(steps[0].ddp);
  EXPECT_EQ(steps[0].ranks, 1);
  EXPECT_EQ(steps[1].bucket_bytes, 1 << 20);
  EXPECT_EQ(steps[2].bucket_bytes, 2 << 20);
}

TEST(DdpPlan, LeavesOneRankToAReducerThatWorksAlone) {
  DdpSweep sweep;
  sweep.world = 2;
  sweep.reducer = "c10d";
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1M/2G"));
}

TEST(DdpPlan, TracesTheMostRanksOfEachModelAndBucketSize) {
  DdpSweep sweep;
  sweep.world = 4;
  sweep.trace = "/tmp/t";
  std::vector<DdpStep> steps = ddp_steps(sweep, "mlp");
  EXPECT_EQ(steps.back().trace, "/tmp/t");
  EXPECT_TRUE(steps[steps.size() - 2].trace.empty());
  sweep.models = {"mlp", "resnet18"};
  sweep.bucket_bytes = {1 << 20, 25 << 20};
  steps = ddp_steps(sweep, "mlp");
  EXPECT_EQ(steps[3].trace, "/tmp/t/mlp-1MiB");
  EXPECT_EQ(ddp_steps(sweep, "resnet18").back().trace, "/tmp/t/resnet18-25MiB");
}

TEST(DdpPlan, RefusesMoreRanksThanThereAre) {
  DdpSweep sweep;
  sweep.world = 2;
  sweep.ranks = {1, 4};
  EXPECT_THAT(test::message_of([&] { ddp_steps(sweep, "mlp"); }), HasSubstr("4 ranks in a world of 2"));
}

const fs::path kPairs = fs::path(HEADROOM_TEST_DATA) / "ddp_diff";

class DdpDiffPair : public ::testing::TestWithParam<const char*> {};

TEST_P(DdpDiffPair, IsTheSameByteForByte) {
  const std::string name = GetParam();
  EXPECT_EQ(ddp_diff(kPairs / (name + ".a.json"), kPairs / (name + ".b.json")),
            read_file(kPairs / (name + ".expected.txt")));
}

INSTANTIATE_TEST_SUITE_P(Parity, DdpDiffPair, ::testing::Values("plain", "meta", "mismatch", "uneven"));

class DdpDiffText : public ::testing::Test {
 protected:
  std::string diff(const std::string& a, const std::string& b) {
    write_file_atomically(folder_ / "a.json", a);
    write_file_atomically(folder_ / "b.json", b);
    try {
      return ddp_diff(folder_ / "a.json", folder_ / "b.json");
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::string same(const std::string& text) { return diff(text, text); }
  /// The printed value of a field, or the error.
  std::string field(const std::string& json) {
    const std::string text = same(R"({"x": )" + json + R"(, "benchmark_results": []})");
    const std::size_t at = text.find("\nx:");
    return at == text.npos ? text : std::string(trimmed(text.substr(at + 3, text.find("  vs  ") - at - 3)));
  }

  static std::string report(const std::string& round, const std::string& batch_size = "32") {
    return R"({"benchmark_results": [{"model": "m", "batch_size": )" + batch_size + R"(, "result": [{}, )" +
           round + "]}]}";
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(DdpDiffText, CountsFromTheSecondRound) {
  const std::string text = same(report(R"({"ranks": [0, 1], "measurements": [0.5, 0.25, 1]})"));
  // numpy.percentile([.25, .5, 1], [75, 95]) is .75 and .95.
  EXPECT_THAT(
      text,
      HasSubstr("   2 GPUs:  p75:    0.750s      42/s     -0.0%  p95:    0.950s      33/s     -0.0%\n"));
}

TEST_F(DdpDiffText, TakesBatchSizesAsPythonsInt) {
  const std::string round = R"({"ranks": [0], "measurements": [1]})";
  EXPECT_THAT(same(report(round, "32.9")), HasSubstr("Benchmark: m with batch size 32\n"));
  EXPECT_THAT(diff(report(round, "32"), report(round, "32.0")), HasSubstr("batch size 32\n"));
  EXPECT_THAT(diff(report(round, "32"), report(round, "33")), Not(HasSubstr("Benchmark")));
  EXPECT_THAT(same(report(round, "\"many\"")), HasSubstr("batch_size: expected a number, found \"many\""));
}

TEST_F(DdpDiffText, RefusesWhatTheOriginalStopsAt) {
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": []})")),
              HasSubstr("a.json: /benchmark_results/0/result/1/measurements: missing or empty"));
  EXPECT_THAT(same(report(R"({"measurements": [1]})")),
              HasSubstr("/benchmark_results/0/result/1/ranks: missing"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [0]})")),
              HasSubstr("a rate from a time of zero"));
  EXPECT_THAT(same(R"({"benchmark_results": [{"batch_size": 1}]})"),
              HasSubstr("/benchmark_results/0/model: missing"));
  EXPECT_THAT(same("{}"), HasSubstr("/benchmark_results: missing: this is not a DDP report"));
}

TEST_F(DdpDiffText, RefusesBrokenTextWithThePlace) {
  EXPECT_THAT(same(""), HasSubstr("a.json: the file is empty"));
  EXPECT_THAT(same(R"({"benchmark_results": [)"), HasSubstr("at byte 23: "));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [0.1, 0.2)").substr(0, 100)),
              HasSubstr("at byte 100"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [0.1, NaN]})")),
              HasSubstr("/benchmark_results/0: cannot compute a rate from a time of nan"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": ["0.1"]})")), HasSubstr("expected a number"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [0.1,]})")), HasSubstr("at byte"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": 3})")),
              HasSubstr("/result/1/measurements: expected a list"));
  EXPECT_THAT(same("[1]"), HasSubstr("the report: expected an object"));
  EXPECT_THAT(same(R"({"benchmark_results": []} x)"), HasSubstr("text after the end"));
  EXPECT_THAT(same(R"({"a": )" + std::string(2000, '[')), HasSubstr("nested too deep"));
}

TEST_F(DdpDiffText, RefusesAFolder) {
  EXPECT_THROW(ddp_diff(folder_, folder_), Error);
  EXPECT_THROW(ddp_diff(folder_ / "none.json", folder_ / "none.json"), Error);
}

/// numpy.percentile(values, 75 and 95) of sorted values.
std::string percentiles(std::vector<double> values) {
  std::ranges::sort(values);
  std::string text;
  for (const int percentile : {75, 95}) {
    const double position = static_cast<double>(values.size() - 1) * (percentile / 100.0);
    const auto below = static_cast<std::size_t>(position);
    const double share = position - static_cast<double>(below);
    const double least = values[below], most = values[std::min(below + 1, values.size() - 1)];
    const double value = share >= 0.5 ? most - (most - least) * (1 - share) : least + (most - least) * share;
    text += fmt::format("  p{}: {:8.3f}s {:7.0f}/s     -0.0%", percentile, value, std::trunc(1e6 / value));
  }
  return text;
}

TEST_F(DdpDiffText, FindsThePercentilesOfSortedNumbers) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> seconds(0.001, 2);
  for (const std::size_t count : {1, 2, 3, 5, 20, 21, 400, 20'000}) {
    std::vector<double> values(count);
    for (double& value : values) value = seconds(engine);
    const std::string round =
        fmt::format(R"({{"ranks": [0], "measurements": [{}]}})", fmt::join(values, ", "));
    EXPECT_THAT(same(report(round, "1000000")), HasSubstr(percentiles(values))) << count;
  }
}

TEST_F(DdpDiffText, ReadsAllFormsOfNumbers) {
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [2.5,1e-3 ,
                              1E0, 3, 0.12345678901234567890123]})")),
              HasSubstr(" p75:    2.500s      12/s     -0.0%  p95:    2.900s      11/s"));
  EXPECT_THAT(diff(report(R"({"ranks": [0], "measurements": [0.1, NaN]})"),
                   report(R"({"ranks": [0], "measurements": [0.1]})")),
              HasSubstr("    +nan%"));
}

// Expected texts are from CPython 3.11.

TEST_F(DdpDiffText, PrintsFieldsLikePython) {
  EXPECT_EQ(field("null"), "None");
  EXPECT_EQ(field("true"), "True");
  EXPECT_EQ(field("\"it's\""), "it's");
  EXPECT_EQ(field("-0"), "0");
  EXPECT_EQ(field("123456789012345678901234567890"), "123456789012345678901234567890");
  EXPECT_EQ(field("[NaN, Infinity, -Infinity, 1E400, -1e999, 1e5]"), "[nan, inf, -inf, inf, -inf, 100000.0]");
  EXPECT_EQ(field("NaN"), "nan");
  EXPECT_EQ(field(R"({"a": [1, 2.5, "x"], "b": {"c": null}})"), "{'a': [1, 2.5, 'x'], 'b': {'c': None}}");
  EXPECT_EQ(field("[]"), "[]");
  EXPECT_EQ(field("{}"), "{}");
  EXPECT_EQ(field(R"(["it's", "say \"x\""])"), R"(["it's", 'say "x"'])");
}

TEST_F(DdpDiffText, PrintsTheShortestFloatThatReadsBack) {
  for (const auto& [token, text] :
       std::map<std::string, std::string>{{"0.1", "0.1"},
                                          {"1.00", "1.0"},
                                          {"-0.0", "-0.0"},
                                          {"1e15", "1000000000000000.0"},
                                          {"1e16", "1e+16"},
                                          {"0.00010", "0.0001"},
                                          {"0.00001", "1e-05"},
                                          {"1.5e300", "1.5e+300"},
                                          {"5e-324", "5e-324"},
                                          {"123456789012345.67", "123456789012345.67"}}) {
    EXPECT_EQ(field(token), text);
  }
}

TEST_F(DdpDiffText, PadsCodePoints) {
  EXPECT_THAT(same(R"({"é": "日本", "benchmark_results": []})"),
              HasSubstr("\né:" + std::string(18, ' ') + " " + std::string(18, ' ') + "日本  vs  "));
}

TEST_F(DdpDiffText, RefusesWhatNoBenchmarkWrites) {
  EXPECT_THAT(field(R"(["\u00e9"])"), HasSubstr("printable ASCII"));
  EXPECT_THAT(field(R"(["a\tb"])"), HasSubstr("printable ASCII"));
  EXPECT_THAT(field(R"(["\"'"])"), HasSubstr("one kind of quotes"));
  EXPECT_THAT(field(R"({"a": 1, "a": 2})"), HasSubstr("the key 'a' occurs twice"));
  EXPECT_THAT(field("\"\\ud800\""), HasSubstr("not JSON"));
  EXPECT_THAT(field("[1,"), HasSubstr("at byte"));
  EXPECT_THAT(field("Nan"), HasSubstr("expected a value"));
  EXPECT_THAT(field("-Inf"), HasSubstr("expected a value"));
  EXPECT_THAT(field(std::string(5000, '[')), HasSubstr("nested too deep"));
  EXPECT_THAT(same(report(R"({"ranks": {"0": 1}, "measurements": [1]})")),
              HasSubstr("/result/1/ranks: expected a list"));
  EXPECT_THAT(same(report(R"({"ranks": "ab", "measurements": [1]})")),
              HasSubstr("/result/1/ranks: expected a list"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [1, null]})")), HasSubstr("expected a number"));
  EXPECT_THAT(same(R"({"benchmark_results": [{"model": 7}]})"), HasSubstr("/model: expected a string"));
}

TEST(ScalingTable, ComparesEfficiencyAndSkew) {
  const auto ddp = [](const char* ranks, std::vector<std::vector<double>> processes) {
    Record record;
    record.model.name = "resnet";
    record.model.backend = "native";
    record.metric = {"latency", "us", Direction::kLowerIsBetter, 0, {}, {}};
    record.axes = {{"batch_size", "32"}, {"ranks", ranks}};
    for (auto& values : processes) {
      record.samples.emplace_back();
      record.samples.back().values = std::move(values);
    }
    return record;
  };
  const std::vector<Record> before{ddp("1", {{1, 1, 1}}), ddp("2", {{1.25, 1.25, 1.25}, {1.25, 1.25, 1.25}})};
  const std::vector<Record> after{ddp("1", {{1, 1, 1}}), ddp("2", {
                                                                      {2, 2, 2},
                                                                      {2.2, 2.2, 2.2},
                                                                  })};
  DiffReport report;
  report.tests.resize(1);
  for (std::size_t i = 0; i < 2; ++i) report.comparisons.push_back(compare_records(before[i], after[i]));
  const std::string text = scaling_table(report).text();
  EXPECT_THAT(text, ContainsRegex("resnet batch_size=32 native +1 +100 % +100 % +\\+0\\.0 +- +-"));
  EXPECT_THAT(text,
              ContainsRegex("resnet batch_size=32 native +2 +80\\.0 % +47\\.6 % +-32\\.4 +0 % +10\\.0 %"));
}

}  // namespace
}  // namespace headroom
