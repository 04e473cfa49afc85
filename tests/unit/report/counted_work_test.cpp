// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/counted_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headroom/record/counted_metrics.h"
#include "headroom/report/roofline.h"
#include "headroom/report/roofline_svg.h"
#include "headroom/report/run_sheet.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Record record(const std::string& metric, const std::string& unit, std::vector<double> values,
              const std::string& D = "1024") {
  Record made;
  made.model.name = "gemv";
  made.model.backend = "native";
  made.axes = {{"D", D}};
  made.metric.name = metric;
  made.metric.unit = unit;
  made.device = "cpu";
  made.caches = "cold";
  made.threads = 2;
  made.samples = {{1, 10, 0, std::move(values), {}, {}}};
  estimate(made);
  return made;
}

/// 1 MB declared in 100 us.
std::vector<Record> counted(std::vector<double> volume, double background = 0,
                            const std::string& D = "1024") {
  return {record("latency", "us", {100, 100, 100}, D),
          record("memory_bandwidth(GB/s)", "GB/s", {10, 10, 10}, D),
          record("GFLOP/s", "GFLOP/s", {20, 20, 20}, D), record(kDataVolume, "B", std::move(volume), D),
          record(kBackground, "B", {background}, D)};
}

std::vector<std::string> findings(const std::vector<Record>& records) {
  return counted_findings(counted_work(records));
}

TEST(CountedWork, MoreThanIsDeclaredIsAFinding) {
  const auto said = findings(counted({1.5e6, 1.52e6, 1.54e6}));
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(
      said[0],
      "gemv D=1024 native moves 1.52 times the bytes that it declares: the memory controllers counted 1.45 "
      "MiB an iteration (1.43 MiB to 1.47 MiB, n=3), 977 KiB are declared; its GB/s and its share of the "
      "limit are of the declared ones");
  EXPECT_THAT(findings(counted({0.5e6, 0.5e6, 0.5e6})).at(0), HasSubstr("moves 0.500 times"));
}

TEST(CountedWork, WithinFivePercentTheirSpreadOrWhatOthersMovedIsNone) {
  EXPECT_THAT(findings(counted({1.04e6, 1.045e6, 1.05e6})), IsEmpty());
  EXPECT_THAT(findings(counted({1.0e6, 1.5e6, 1.6e6})), IsEmpty()) << "the spread";
  EXPECT_THAT(findings(counted({1.5e6, 1.5e6, 1.5e6}, 0.46e6)), IsEmpty()) << "others";
  EXPECT_THAT(findings(counted({1.5e6, 1.5e6, 1.5e6}, 0.44e6)), SizeIs(1));
  EXPECT_THAT(findings(counted({1.5e6, 1.5e6})), IsEmpty()) << "too few to know the spread";
}

TEST(CountedWork, OfACaseInCachesOrByMissesIsNoFinding) {
  auto records = counted({1.5e6, 1.5e6, 1.5e6});
  for (Record& one : records) one.caches = "hot";
  EXPECT_THAT(findings(records), IsEmpty());
  records = counted({1.5e6, 1.5e6, 1.5e6});
  records[3].metric.name = kMissVolume;
  EXPECT_THAT(findings(records), IsEmpty());
  EXPECT_THAT(counted_work(records), SizeIs(1));
  records.resize(3);
  EXPECT_THAT(counted_work(records), IsEmpty());
}

TEST(CountedWork, TheLargestDifferenceIsSaidFirstAndTheOthersBelow) {
  auto records = counted({1.2e6, 1.2e6, 1.2e6});
  for (Record& more : counted({0.3e6, 0.3e6, 0.3e6}, 0, "2048")) records.push_back(std::move(more));
  const std::string text = run_sheet(records).text();
  EXPECT_LT(text.find("gemv D=2048 native moves"), text.find("counted, per iteration"));
  EXPECT_GT(text.find("gemv D=1024 native moves"), text.find("counted, per iteration"));
  EXPECT_THAT(
      text, AllOf(HasSubstr("(1 more below)"), HasSubstr("from memory: what the memory controllers moved")));
  EXPECT_THAT(run_sheet({records[0], records[1]}).text(), Not(HasSubstr("counted")));
}

TEST(CountedWork, IsWhereTheRooflineHasItsPoint) {
  auto records = counted({2e6, 2e6, 2e6});
  for (Record& more : counted({}, 0, "2048")) {
    if (!more.samples[0].values.empty() && more.metric.name != kBackground)
      records.push_back(std::move(more));
  }
  const Roofline roofline = roofline_of(records);
  ASSERT_THAT(roofline.cases, SizeIs(2));
  ASSERT_TRUE(roofline.cases[0].counted);
  EXPECT_DOUBLE_EQ(roofline.cases[0].intensity, 1);
  EXPECT_DOUBLE_EQ(roofline.cases[0].counted->declared_intensity, 2);
  EXPECT_DOUBLE_EQ(roofline.cases[0].bandwidth, 20);
  EXPECT_FALSE(roofline.cases[1].counted);
  EXPECT_DOUBLE_EQ(roofline.cases[1].intensity, 2);
  EXPECT_STREQ(source_of_bytes(roofline), "declared and counted");
  EXPECT_THAT(roofline.findings, SizeIs(1));
  EXPECT_THAT(roofline_svg(roofline, "t"), HasSubstr("bytes counted"));
}

}  // namespace
}  // namespace headroom
