// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_diff.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/base/files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kPairs = fs::path(HEADROOM_TEST_DATA) / "ddp_diff";

class DdpDiffPair : public ::testing::TestWithParam<const char*> {};

TEST_P(DdpDiffPair, IsTheSameByteForByte) {
  const std::string name = GetParam();
  EXPECT_EQ(ddp_diff(kPairs / (name + ".a.json"), kPairs / (name + ".b.json")),
            read_file(kPairs / (name + ".expected.txt")));
}

INSTANTIATE_TEST_SUITE_P(Parity, DdpDiffPair, ::testing::Values("plain", "meta", "mismatch", "uneven"));

/// Two reports in files of their own.
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
              HasSubstr("a time of zero has no rate"));
  EXPECT_THAT(same(R"({"benchmark_results": [{"batch_size": 1}]})"),
              HasSubstr("/benchmark_results/0/model: missing"));
  EXPECT_THAT(same("{}"), HasSubstr("/benchmark_results: missing: this is no DDP report"));
}

TEST_F(DdpDiffText, RefusesBrokenTextWithThePlace) {
  EXPECT_THAT(same(""), HasSubstr("a.json: the file is empty"));
  EXPECT_THAT(same(R"({"benchmark_results": [)"), HasSubstr("at byte 23: "));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [0.1, 0.2)").substr(0, 100)),
              HasSubstr("at byte 100"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [0.1, NaN]})")),
              HasSubstr("/benchmark_results/0: a time of nan has no rate"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": ["0.1"]})")), HasSubstr("expected a number"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": [0.1,]})")), HasSubstr("at byte"));
  EXPECT_THAT(same(report(R"({"ranks": [0], "measurements": 3})")),
              HasSubstr("/result/1/measurements: expected a list"));
  EXPECT_THAT(same("[1]"), HasSubstr("the report: expected an object"));
  EXPECT_THAT(same(R"({"benchmark_results": []} x)"), HasSubstr("text behind the end"));
  EXPECT_THAT(same(R"({"a": )" + std::string(2000, '[')), HasSubstr("nested too deep"));
}

TEST_F(DdpDiffText, RefusesAFolder) {
  EXPECT_THROW(ddp_diff(folder_, folder_), Error);
  EXPECT_THROW(ddp_diff(folder_ / "none.json", folder_ / "none.json"), Error);
}

}  // namespace
}  // namespace headroom
