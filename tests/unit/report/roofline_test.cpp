// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/text.h"
#include "headroom/report/roofline_json.h"
#include "headroom/report/roofline_svg.h"
#include "headroom/report/roofline_text.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

std::shared_ptr<const Environment> machine(const std::string& caches) {
  auto environment = std::make_shared<Environment>();
  environment->machines.resize(1);
  environment->machines[0].extra_info["caches"] = caches;
  return environment;
}

Record record(const std::string& name, AxisValues axes, const std::string& metric, double value,
              const std::string& caches = "cold") {
  Record made;
  made.model.name = name;
  made.model.backend = "native";
  made.axes = std::move(axes);
  for (const auto& [axis, value] : made.axes) {
    if (axis == "dtype") made.benchmark.dtype = value.text();
  }
  made.metric.name = metric;
  made.metric.value = value;
  made.device = "cpu";
  made.caches = caches;
  made.threads = 2;
  made.environment = machine("48 KiB, 1.00 MiB, 32.0 MiB");
  made.samples = {{1, 10, 1, {value, value, value}, {}, {}}};
  made.interval = Interval{value * 0.9, value * 1.1, 0.95};
  return made;
}

/// A case of 1 FLOP/byte at 80 % of a limit of 50 GB/s.
std::vector<Record> gemv() {
  const AxisValues axes{{"D", "1024"}, {"dtype", "bf16"}};
  std::vector<Record> records{record("gemv", axes, "latency", 50), record("gemv", axes, "GFLOP/s", 40),
                              record("gemv", axes, "memory_bandwidth(GB/s)", 40)};
  for (Record& one : records)
    one.limit = Limit{{{"read", 2 << 20, "linear", "", 2}}, one.metric.value / 0.8, 0.8, {}, false};
  return records;
}

TEST(Roofline, ACaseIsAPointUnderTheLimitThatWasSampledWithIt) {
  const Roofline roofline = roofline_of(gemv());
  ASSERT_THAT(roofline.cases, SizeIs(1));
  const RooflineCase& one = roofline.cases[0];
  EXPECT_EQ(one.name, "gemv D=1024");
  EXPECT_DOUBLE_EQ(one.intensity, 1);
  EXPECT_DOUBLE_EQ(one.gflops, 40);
  EXPECT_EQ(one.samples, 2U) << "warm-up is not counted";
  ASSERT_THAT(roofline.roofs, SizeIs(1));
  EXPECT_EQ(name_of(roofline.roofs[0]), "memory read, 2 threads");
  EXPECT_DOUBLE_EQ(roofline.roofs[0].rate, 50);
  EXPECT_THAT(roofline.left_out, SizeIs(0));
}

TEST(Roofline, LimitsThatWereRunAreRoofsByLevel) {
  const auto limit = [](const char* bytes, double rate) {
    return record("limit.read", {{"bytes", bytes}, {"pattern", "linear"}}, "memory_bandwidth(GB/s)", rate,
                  "hot");
  };
  std::vector<Record> limits{limit("16384", 600),    limit("65536", 500),   limit("1048576", 280),
                             limit("16777216", 150), limit("67108864", 90), limit("1073741824", 45)};
  limits.push_back(record("limit.peak", {{"dtype", "bf16"}, {"pattern", "dot"}}, "GFLOP/s", 860));
  limits.push_back(record("limit.peak", {{"dtype", "bf16"}, {"pattern", "fma"}}, "GFLOP/s", 460));
  const Roofline roofline = roofline_of(gemv(), limits);
  std::vector<std::pair<std::string, double>> found;
  for (const Roof& roof : roofline.roofs) found.emplace_back(name_of(roof), roof.rate);
  // 64 MiB lie between the last cache and memory; the 50 GB/s of memory came with the case.
  EXPECT_THAT(found, ElementsAre(Pair("L1 read, 2 threads", 600), Pair("L2 read, 2 threads", 280),
                                 Pair("L3 read, 2 threads", 150), Pair("memory read, 2 threads", 50),
                                 Pair("bf16 peak, 2 threads", 860)));
  EXPECT_THAT(roofline.cases, SizeIs(1)) << "limits are no points";
}

TEST(Roofline, ADeviceHasRoofsOfItsOwnWhateverThreadsStartItsWork) {
  auto environment = std::make_shared<Environment>(*machine("48 KiB, 1.00 MiB, 32.0 MiB"));
  environment->machines[0].extra_info["gpu_l2"] = "60.0 MiB";
  const auto on_device = [&](Record made, int threads) {
    made.device = "cuda";
    made.threads = threads;
    made.environment = environment;
    return made;
  };
  const auto limit = [&](const char* bytes, double rate) {
    return on_device(record("limit.read", {{"bytes", bytes}, {"pattern", "linear"}}, "memory_bandwidth(GB/s)",
                            rate, "hot"),
                     1);
  };
  std::vector<Record> limits{limit("33554432", 9000), limit("134217728", 5000), limit("1073741824", 4500)};
  limits.push_back(on_device(record("limit.peak", {{"dtype", "bf16"}}, "GFLOP/s", 8e5), 1));
  limits.push_back(record("limit.read", {{"bytes", "65536"}}, "memory_bandwidth(GB/s)", 600, "hot"));
  std::vector<Record> records;
  for (Record& one : gemv()) {
    one.limit.reset();
    records.push_back(on_device(one, 2));
  }
  const Roofline roofline = roofline_of(records, limits);
  std::vector<std::pair<std::string, double>> found;
  for (const Roof& roof : roofline.roofs) found.emplace_back(name_of(roof), roof.rate);
  // 128 MiB lie between the L2 and memory; the CPU's limit is none of the GPU's.
  EXPECT_THAT(found, ElementsAre(Pair("cuda L2 read", 9000), Pair("cuda memory read", 4500),
                                 Pair("cuda bf16 peak", 8e5)));
}

TEST(Roofline, RoofsOfOtherThreadsAreDropped) {
  Record other = record("limit.peak", {{"dtype", "bf16"}, {"pattern", "dot"}}, "GFLOP/s", 430);
  other.threads = 1;
  EXPECT_THAT(roofline_of(gemv(), {other}).roofs, SizeIs(1));
}

TEST(Roofline, SaysWhatIsNoPointAndWhy) {
  std::vector<Record> records = gemv();
  records.push_back(record("copy", {}, "latency", 3));
  records.push_back(record("scale", {}, "memory_bandwidth(GB/s)", 3));
  Record skipped = record("large", {}, "latency", 0);
  skipped.outcome = {Outcome::Kind::kSkipped, "needs 256 GiB"};
  records.push_back(skipped);
  EXPECT_THAT(roofline_of(records).left_out,
              ElementsAre(Pair("copy native", "it tells neither FLOPs nor bytes"),
                          Pair("scale native", "it tells no FLOPs"), Pair("large native", "needs 256 GiB")));
}

TEST(Roofline, AShareOfAPeakImpliesThePeak) {
  std::vector<Record> records = gemv();
  records.push_back(record("gemv", {{"D", "1024"}, {"dtype", "bf16"}}, "flops_utilization", 0.05));
  const Roofline roofline = roofline_of(records);
  ASSERT_THAT(roofline.roofs, SizeIs(2));
  EXPECT_EQ(name_of(roofline.roofs[1]), "bf16 peak, 2 threads");
  EXPECT_DOUBLE_EQ(roofline.roofs[1].rate, 800);
  const RooflineFrame frame = frame_of(roofline);
  const auto [from, to] = ends_of(roofline.roofs[0], roofline, frame);
  EXPECT_DOUBLE_EQ(to.first, 16) << "800 GFLOP/s over 50 GB/s";
  EXPECT_DOUBLE_EQ(to.second, 800);
  EXPECT_DOUBLE_EQ(from.second, 50 * from.first);
  EXPECT_DOUBLE_EQ(ends_of(roofline.roofs[1], roofline, frame).first.first, 16);
}

TEST(RooflineText, ShowsPlotCasesAndRoofs) {
  const std::string text = roofline_text(roofline_of(gemv()));
  EXPECT_THAT(text, HasSubstr("FLOP/byte"));
  EXPECT_THAT(
      text, HasSubstr("a  gemv D=1024  native   bf16         2       1.00     40.0  10.0 %  2  40.0  80.0 % "
                      "of read 2 MiB linear, 2 threads"));
  EXPECT_THAT(text, HasSubstr("memory read, 2 threads  50.0 GB/s"));
  for (const std::string& line : split(text, '\n')) EXPECT_LE(display_width(line), 130U) << line;
}

TEST(Roofline, OperationsOnIntegersAreNoFlops) {
  const AxisValues axes{{"dtype", "int8"}};
  std::vector<Record> records{record("dot", axes, "GOP/s", 40),
                              record("dot", axes, "memory_bandwidth(GB/s)", 40)};
  const auto peak = [](const char* unit) {
    return record("limit.peak", {{"dtype", "int8"}, {"pattern", "dot"}}, unit, 860);
  };
  for (const char* unit : {"GOP/s", "GFLOP/s"}) {  // the second as records said before
    const Roofline roofline = roofline_of(records, {peak(unit)});
    const Json json = roofline_json(roofline);
    EXPECT_EQ(json["cases"][0]["unit"], "GOP/s");
    EXPECT_EQ(json["roofs"][0]["unit"], "GOP/s");
    EXPECT_THAT(roofline_text(roofline), HasSubstr("int8 peak, 2 threads  860 GOP/s"));
    EXPECT_THAT(roofline_text(roofline), Not(HasSubstr("FLOP/s")));
    EXPECT_THAT(roofline_svg(roofline, ""), HasSubstr(": 40.0 GOP/s"));
  }
}

TEST(RooflineText, SaysWhenThereAreNoRoofs) {
  std::vector<Record> records = gemv();
  for (Record& one : records) one.limit.reset();
  EXPECT_THAT(roofline_text(roofline_of(records)), HasSubstr("no roofs"));
}

TEST(RooflineSvg, IsWellFormedAndEscapes) {
  std::vector<Record> records = gemv();
  for (Record& one : records) one.model.backend = "a<b&\"c\"";
  const std::string svg = roofline_svg(roofline_of(records), "x < y");
  EXPECT_THAT(svg, HasSubstr("<title>gemv D=1024 a&lt;b&amp;&quot;c&quot; bf16</title>"));
  EXPECT_THAT(svg, HasSubstr("x &lt; y"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf\"")));
}

TEST(RooflineJson, HasCasesAndRoofs) {
  const Json json = roofline_json(roofline_of(gemv()));
  EXPECT_EQ(json["cases"][0]["flop_per_byte"], 1.0);
  EXPECT_EQ(json["cases"][0]["limit"]["share"], 0.8);
  EXPECT_EQ(json["roofs"][0]["level"], "memory");
  EXPECT_EQ(json["roofs"][0]["low"], nullptr);
}

}  // namespace
}  // namespace headroom
