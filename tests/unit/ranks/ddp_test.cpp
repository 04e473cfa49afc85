// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "../error_message.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/ranks/ddp/ddp.h"
#include "headroom/ranks/ddp/ddp_diff.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

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
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

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

  static std::string report(const std::string& round, const std::string& batch_size = "32") {
    return R"({"benchmark_results": [{"model": "m", "batch_size": )" + batch_size + R"(, "result": [{}, )" +
           round + "]}]}";
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / ("ddp_diff_" + std::to_string(::getpid()));
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
  EXPECT_THAT(same(report(round, "\" 64 \"")), HasSubstr("batch size 64\n"));
  EXPECT_THAT(diff(report(round, "32"), report(round, "32.0")), HasSubstr("batch size 32\n"));
  EXPECT_THAT(diff(report(round, "32"), report(round, "\"32\"")), ::testing::Not(HasSubstr("Benchmark")));
  EXPECT_THAT(same(report(round, "\"many\"")), HasSubstr("batch_size: expected a number, found 'many'"));
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

constexpr std::array kAsked{0, 50, 75, 95, 100};

/// numpy's formula on sorted doubles.
std::vector<double> expected(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> result;
  for (const int percentile : kAsked) {
    const double position = static_cast<double>(values.size() - 1) * (percentile / 100.0);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double share = position - static_cast<double>(below), step = values[above] - values[below];
    result.push_back(share >= 0.5 ? values[above] - step * (1 - share) : values[below] + step * share);
  }
  return result;
}

std::vector<double> read_back(const std::vector<std::string>& texts, const char* separator) {
  const auto path =
      std::filesystem::path(::testing::TempDir()) / ("decimals_" + std::to_string(::getpid()) + ".json");
  std::ofstream file(path);
  for (std::size_t i = 0; i < texts.size(); ++i) file << (i == 0 ? "[" : separator) << texts[i];
  file << "]";
  file.close();
  JsonStream stream(path);
  DecimalSample sample;
  read_numbers(stream, sample);
  stream.finish();
  std::filesystem::remove(path);
  EXPECT_EQ(sample.size(), texts.size());
  return sample.percentiles(kAsked);
}

std::string random_digits(std::mt19937& engine, std::size_t count) {
  std::string digits;
  while (digits.size() < count) digits += static_cast<char>('0' + engine() % 10);
  return digits;
}

/// One in `slow_in` numbers is not representable as a decimal by DecimalSample.
void check(std::size_t count, unsigned slow_in, const char* separator, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::string> texts;
  std::vector<double> values;
  const std::array<const char*, 6> slow{
      "2.5", "1e-3", "1.9999999999999999999", "3", "0.12345678901234567890123", "1E0"};
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = (engine() % 4 == 0 ? "1." : "0.") + random_digits(engine, 1 + engine() % 19);
    if (slow_in > 0 && engine() % slow_in == 0) text = slow[engine() % slow.size()];
    values.push_back(std::stod(text));
    texts.push_back(std::move(text));
  }
  EXPECT_EQ(read_back(texts, separator), expected(values)) << count << " numbers, seed " << seed;
}

TEST(DecimalSample, FindsWhatSortingDoublesFinds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const std::size_t count : {1, 2, 3, 5, 20, 21, 400}) check(count, 0, ", ", seed);
  }
  for (unsigned seed = 0; seed < 3; ++seed) check(20'000, 0, ",", seed);
}

TEST(DecimalSample, MixesFormsOfNumbers) {
  for (unsigned seed = 0; seed < 20; ++seed) check(50, 5, ",\n  ", seed);
  check(20'000, 100, ", ", 1);
}

TEST(DecimalSample, OfEqualNumbersIsThatNumber) {
  const std::vector<std::string> texts(10'000, "0.1");
  EXPECT_EQ(read_back(texts, ", "), std::vector<double>(kAsked.size(), 0.1));
}

// Expected texts are from CPython 3.11.

std::string str(const std::string& json) {
  const PaddedText text(json);
  JsonStream stream(text, "test");
  stream.accept_python_numbers();
  std::string printed = python_str(stream);
  stream.finish();
  return printed;
}

TEST(PythonStr, OfScalars) {
  EXPECT_EQ(str("null"), "None");
  EXPECT_EQ(str("true"), "True");
  EXPECT_EQ(str("\"it's\""), "it's");
  EXPECT_EQ(str("-0"), "0");
  EXPECT_EQ(str("123456789012345678901234567890"), "123456789012345678901234567890");
}

TEST(PythonStr, OfNumbersThatOnlyPythonWrites) {
  EXPECT_EQ(str("[NaN, Infinity, -Infinity, 1E400, -1e999, 1e5]"), "[nan, inf, -inf, inf, -inf, 100000.0]");
  EXPECT_EQ(str("NaN"), "nan");
}

TEST(PythonFixed, PadsWhatIsNoNumberToo) {
  EXPECT_EQ(python_fixed(0.25, 8, 3, false), "   0.250");
  EXPECT_EQ(python_fixed(-0.04, 8, 1, true), "    -0.0");
  EXPECT_EQ(python_fixed(-INFINITY, 8, 1, true), "    -inf");
  EXPECT_EQ(python_fixed(NAN, 8, 1, true), "    +nan");
  EXPECT_EQ(python_fixed(INFINITY, 8, 3, false), "     inf");
}

TEST(PythonStr, OfNestedValues) {
  EXPECT_EQ(str(R"({"a": [1, 2.5, "x"], "b": {"c": null}})"), "{'a': [1, 2.5, 'x'], 'b': {'c': None}}");
  EXPECT_EQ(str("[]"), "[]");
  EXPECT_EQ(str("{}"), "{}");
}

TEST(PythonStr, KeepsTheLastOfEqualKeysInTheFirstPlace) {
  EXPECT_EQ(str(R"({"a": 1, "b": 2, "a": [3]})"), "{'a': [3], 'b': 2}");
}

TEST(PythonStr, RefusesWhatIsNotJson) {
  EXPECT_THROW(str("[1,"), Error);
  EXPECT_THROW(str("Nan"), Error);
  EXPECT_THROW(str("-Inf"), Error);
  EXPECT_THROW(str(std::string(5000, '[')), Error);
}

TEST(PythonFloat, IsTheShortestThatReadsBack) {
  EXPECT_EQ(python_float(0.1), "0.1");
  EXPECT_EQ(python_float(1), "1.0");
  EXPECT_EQ(python_float(-0.0), "-0.0");
  EXPECT_EQ(python_float(1e15), "1000000000000000.0");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_float(0.0001), "0.0001");
  EXPECT_EQ(python_float(0.00001), "1e-05");
  EXPECT_EQ(python_float(1.5e300), "1.5e+300");
  EXPECT_EQ(python_float(5e-324), "5e-324");
  EXPECT_EQ(python_float(123456789012345.67), "123456789012345.67");
}

TEST(PythonQuoted, ChoosesTheQuote) {
  EXPECT_EQ(python_quoted("a"), "'a'");
  EXPECT_EQ(python_quoted("it's"), "\"it's\"");
  EXPECT_EQ(python_quoted("say \"x\""), "'say \"x\"'");
  EXPECT_EQ(python_quoted("'\""), "'\\'\"'");
}

TEST(PythonQuoted, EscapesWhatDoesNotPrint) {
  EXPECT_EQ(python_quoted("\t\n\r\\\x01\x7f"), "'\\t\\n\\r\\\\\\x01\\x7f'");
  EXPECT_EQ(python_quoted("é日😀"), "'é日😀'");
  EXPECT_EQ(python_quoted("\u00a0\u00ad\u200b\U000e0001"), "'\\xa0\\xad\\u200b\\U000e0001'");
}

TEST(PythonPadded, CountsCodePoints) {
  EXPECT_EQ(python_padded("é", 3, true), "  é");
  EXPECT_EQ(python_padded("日本", 4, false), "日本  ");
  EXPECT_EQ(python_padded("long", 2, true), "long");
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
  EXPECT_THAT(text, testing::ContainsRegex("resnet batch_size=32 native +1 +100 % +100 % +\\+0\\.0 +- +-"));
  EXPECT_THAT(text, testing::ContainsRegex(
                        "resnet batch_size=32 native +2 +80\\.0 % +47\\.6 % +-32\\.4 +0 % +10\\.0 %"));
}

}  // namespace
}  // namespace headroom
