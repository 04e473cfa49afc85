// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "headroom/base/text.h"
#include "headroom/record/noise.h"
#include "headroom/report/roofline.h"
#include "headroom/report/run_view.h"
#include "headroom/report/text_plot.h"
#include "headroom/tables/width.h"

namespace headroom {
namespace {

using namespace testing;

std::shared_ptr<const Environment> machine(std::vector<std::int64_t> caches) {
  auto environment = std::make_shared<Environment>();
  environment->machines.resize(1);
  environment->machines[0].cache_bytes = std::move(caches);
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
  made.environment = machine({48 << 10, 1 << 20, 32 << 20});
  made.samples = {{1, 10, 1, {value, value, value}, {}, {}}};
  made.interval = Interval{value * 0.9, value * 1.1, 0.95};
  return made;
}

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
  // 64 MiB are between the last cache and memory: 50 GB/s of memory.
  EXPECT_THAT(found, ElementsAre(Pair("L1 read, 2 threads", 600), Pair("L2 read, 2 threads", 280),
                                 Pair("L3 read, 2 threads", 150), Pair("memory read, 2 threads", 50),
                                 Pair("bf16 peak, 2 threads", 860)));
  EXPECT_THAT(roofline.cases, SizeIs(1)) << "limits are no points";
}

TEST(Roofline, ADeviceHasRoofsOfItsOwnWhateverThreadsStartItsWork) {
  auto environment = std::make_shared<Environment>(*machine({48 << 10, 1 << 20, 32 << 20}));
  environment->machines[0].gpu_l2_bytes = 60 << 20;
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
  // 128 MiB are between the L2 and memory; the CPU's limit does not apply.
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
              ElementsAre(Pair("copy native", "no FLOPs and no bytes"), Pair("scale native", "no FLOPs"),
                          Pair("large native", "needs 256 GiB")));
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
  const std::string text = roofline_view(roofline_of(gemv())).text();
  EXPECT_THAT(text, HasSubstr("FLOP/byte"));
  EXPECT_THAT(text, HasSubstr("a  gemv D=1024       1.00     40.0  10.0 %  2  40.0    80.0 %  "
                              "read 2 MiB linear, 2 threads"));
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
  for (const char* unit : {"GOP/s", "GFLOP/s"}) {  // the second in older records
    const Roofline roofline = roofline_of(records, {peak(unit)});
    const Json json = roofline_json(roofline);
    EXPECT_EQ(json["cases"][0]["unit"], "GOP/s");
    EXPECT_EQ(json["roofs"][0]["unit"], "GOP/s");
    EXPECT_THAT(roofline_view(roofline).text(), HasSubstr("int8 peak, 2 threads"));
    EXPECT_THAT(roofline_view(roofline).text(), HasSubstr("860 GOP/s"));
    EXPECT_THAT(roofline_view(roofline).text(), Not(HasSubstr("FLOP/s")));
    EXPECT_THAT(roofline_svg(roofline, ""), HasSubstr(": 40.0 GOP/s"));
  }
}

TEST(RooflineText, SaysWhenThereAreNoRoofs) {
  std::vector<Record> records = gemv();
  for (Record& one : records) one.limit.reset();
  EXPECT_THAT(roofline_view(roofline_of(records)).text(), HasSubstr("no roofs"));
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

/// Widths of Verdana, the widest common font, in thousandths of its size.
double verdana_width(std::string_view text, double size) {
  static const std::map<char, int> kWidths{
      {' ', 352}, {',', 364}, {'.', 364}, {':', 454}, {'/', 454}, {'-', 454}, {'%', 1076}, {'=', 818},
      {';', 454}, {'(', 454}, {')', 454}, {'_', 636}, {'a', 601}, {'b', 623}, {'c', 521},  {'d', 623},
      {'e', 596}, {'f', 352}, {'g', 623}, {'h', 633}, {'i', 274}, {'j', 344}, {'k', 592},  {'l', 274},
      {'m', 973}, {'n', 633}, {'o', 607}, {'p', 623}, {'q', 623}, {'r', 427}, {'s', 521},  {'t', 394},
      {'u', 633}, {'v', 592}, {'w', 818}, {'x', 592}, {'y', 592}, {'z', 525}, {'M', 843},  {'W', 989},
      {'O', 787}, {'G', 775}, {'Q', 787}, {'D', 771}, {'N', 748}, {'H', 751}};
  double width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0U) == 0x80) continue;
    const auto found = kWidths.find(c);
    const bool is_digit = c >= '0' && c <= '9', is_upper = c >= 'A' && c <= 'Z';
    width += found != kWidths.end() ? found->second : is_digit ? 636 : is_upper ? 700 : 1000;
  }
  return width * size / 1000;
}

double attribute(const std::string& element, const std::string& name) {
  const std::size_t at = element.find(" " + name + "=\"");
  return at == std::string::npos ? NAN : std::stod(element.substr(at + name.size() + 3));
}

/// Boxes of texts; all shapes must lie within the viewBox.
std::vector<std::pair<std::string, SvgBox>> boxes_of(const std::string& svg) {
  EXPECT_THAT(svg, HasSubstr(" viewBox=\"0 0 "));
  const std::vector<std::string> view = split(svg.substr(svg.find("viewBox=\"") + 9, 40), ' ');
  const double width = std::stod(view[2]), height = std::stod(view[3]);
  const auto expect_inside = [&](const SvgBox& box, const std::string& what) {
    EXPECT_TRUE(box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height) << what;
  };
  std::vector<std::pair<std::string, SvgBox>> boxes;
  for (const std::string& line : split(svg, '\n')) {
    if (line.starts_with("<line")) {
      for (const auto& [x, y] : {std::pair("x1", "y1"), std::pair("x2", "y2")}) {
        const double at_x = attribute(line, x), at_y = attribute(line, y);
        expect_inside({at_x, at_y, at_x, at_y}, line);
      }
    }
    if (line.starts_with("<circle")) {
      const double x = attribute(line, "cx"), y = attribute(line, "cy"), r = attribute(line, "r");
      expect_inside({x - r, y - r, x + r, y + r}, line);
    }
    if (!line.starts_with("<text")) continue;
    const std::size_t begin = line.find('>') + 1;
    const std::string text = line.substr(begin, line.rfind('<') - begin);
    const double x = attribute(line, "x"), y = attribute(line, "y"), size = attribute(line, "font-size");
    const double fitted = attribute(line, "textLength");
    const double wide = std::isnan(fitted) ? verdana_width(text, size) : fitted;
    const bool is_end = line.find("\"end\"") != std::string::npos;
    const double left = is_end ? x - wide : line.find("\"middle\"") != std::string::npos ? x - wide / 2 : x;
    boxes.emplace_back(line, SvgBox{left, y - 0.77 * size, left + wide, y + 0.21 * size});
    expect_inside(boxes.back().second, line);
  }
  return boxes;
}

void expect_no_overlap(const std::string& svg) {
  const auto boxes = boxes_of(svg);
  EXPECT_GE(boxes.size(), 6U);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(boxes[i].second.overlaps(boxes[j].second)) << boxes[i].first << boxes[j].first;
  }
}

Roofline crowd(int cases, int roofs) {
  Roofline roofline;
  for (int i = 0; i < cases; ++i) {
    RooflineCase one;
    one.name = "gather_gemv D=" + std::to_string(1000 + i);
    one.experiment = "gather_gemv";
    one.backend = "native";
    one.dtype = "bf16";
    one.intensity = 1 + 0.02 * (i % 7);
    one.gflops = 40 + 0.3 * i;
    one.unit = "GFLOP/s";
    one.interval = Interval{one.gflops * 0.5, one.gflops * 3000, 0.95};
    one.samples = 12345;
    roofline.cases.push_back(std::move(one));
  }
  for (const Roof::Kind kind : {Roof::Kind::kBandwidth, Roof::Kind::kPeak}) {
    for (int i = 0; i < roofs; ++i) {
      Roof roof;
      roof.kind = kind;
      roof.what = kind == Roof::Kind::kPeak ? "bf16" : "read";
      roof.level = "L1";
      roof.rate = (kind == Roof::Kind::kPeak ? 900 : 300) * (1 - 0.01 * i);
      roofline.roofs.push_back(std::move(roof));
    }
  }
  return roofline;
}

TEST(RooflineSvg, ExperimentsHaveColoursOfTheirOwnWhateverBlanksTheyHave) {
  Roofline roofline = crowd(3, 1);
  roofline.cases[0].name = "two words D=1";
  roofline.cases[0].experiment = "two words";
  roofline.cases[1].name = "two others D=1";
  roofline.cases[1].experiment = "two others";
  const std::string svg = roofline_svg(roofline, "");
  for (const char* colour : {"f0", "f1", "f2"})
    EXPECT_THAT(svg, HasSubstr(std::string("<circle class=\"") + colour + "\"")) << colour;
}

TEST(RooflineSvg, AllOfItIsInsideAndNoLabelsOverlapInTheWidestFont) {
  expect_no_overlap(roofline_svg(roofline_of(gemv()), "roofline of @last"));
  expect_no_overlap(roofline_svg(crowd(1, 0), ""));
  for (const int roofs : {1, 5, 30})
    expect_no_overlap(roofline_svg(crowd(40, roofs), "roofline of run.json"));
  Roofline wide = crowd(3, 3);
  wide.cases[0].name = "gemv file=" + std::string(400, 'W');
  wide.cases[1].backend = "aten [" + std::string(60, 'm') + "] and more words of it " + std::string(90, '%');
  wide.cases[2].intensity = 1e6;
  expect_no_overlap(roofline_svg(wide, "roofline of /" + std::string(300, 'W') + ".json"));
}

TEST(RooflineSvg, EachRoofAndCaseIsNamedInTheLegend) {
  const std::string svg = roofline_svg(crowd(3, 2), "");
  EXPECT_THAT(svg, HasSubstr(">A L1 read: 300 GB/s</text>"));
  EXPECT_THAT(svg, HasSubstr(">D bf16 peak: 891 GFLOP/s</text>"));
  EXPECT_THAT(svg, HasSubstr(">3 gather_gemv D=1002 native bf16: 40.6 GFLOP/s"));
  EXPECT_THAT(svg, HasSubstr("declared by the cases"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
}

TEST(RooflineJson, HasCasesAndRoofs) {
  const Json json = roofline_json(roofline_of(gemv()));
  EXPECT_EQ(json["cases"][0]["flop_per_byte"], 1.0);
  EXPECT_EQ(json["cases"][0]["limit"]["share"], 0.8);
  EXPECT_EQ(json["roofs"][0]["level"], "memory");
  EXPECT_EQ(json["roofs"][0]["low"], nullptr);
  EXPECT_EQ(json["work"], "declared");
}

TEST(Roofline, SaysWhereARoofIsOfOtherPagesThanACase) {
  auto records = gemv();
  for (Record& one : records) one.huge_pages = 0;
  auto roof =
      record("limit.read", {{"bytes", "268435456"}, {"pattern", "linear"}}, "memory_bandwidth(GB/s)", 80);
  roof.huge_pages = 1;
  const Roofline roofline = roofline_of(records, {roof});
  ASSERT_THAT(roofline.findings, SizeIs(1));
  EXPECT_THAT(roofline.findings[0], HasSubstr("gemv D=1024 native has 0 %"));
  EXPECT_THAT(roofline.findings[0], HasSubstr("roof memory read, 2 threads has 100 %"));
  EXPECT_THAT(roofline.findings[0], HasSubstr("headroom run limit.read --huge-pages no"));
  EXPECT_THAT(roofline_view(roofline, 0).text(), HasSubstr("--huge-pages no"));
  roof.huge_pages = 0.004;
  EXPECT_THAT(roofline_of(records, {roof}).findings, SizeIs(0));
  roof.huge_pages.reset();
  EXPECT_THAT(roofline_of(records, {roof}).findings, SizeIs(0)) << "nobody knows";
}

Record latency_of(const std::string& backend, const std::string& runner, double us, double fraction) {
  Record record;
  record.model.name = "gemv";
  record.model.backend = backend;
  record.runner = runner;
  record.benchmark.dtype = "bf16";
  record.axes = {{"D", "4096"}, {"dtype", "bf16"}};
  record.metric = {"latency", "us", Direction::kLowerIsBetter, us, {}, {}};
  record.limit = Limit{{{"read", 1 << 20, "linear", "", 2}},
                       us * fraction,
                       fraction,
                       Interval{fraction - 0.01, fraction + 0.01, 0.95},
                       false};
  return record;
}

Record compared(Record record, double ratio, double low, double high) {
  record.ratio = RatioToOther{ratio, Interval{low, high, 0.95}, 30, "native@native", "native", "native"};
  return record;
}

TEST(NearestLimit, NamesTheFastestAndWhoComesNext) {
  const std::vector<Record> records{latency_of("native", "native", 100, 0.88),
                                    compared(latency_of("aten", "torch", 190, 0.46), 1.9, 1.8, 2.0),
                                    compared(latency_of("onednn", "native", 131, 0.67), 1.31, 1.29, 1.33)};
  EXPECT_EQ(nearest_limit_text(records),
            "nearest the limit: gemv D=4096 bf16: native (88.0 % ±1.0), then onednn [native]: "
            "1.310 x the time (1.290 to 1.330)\n");
}

TEST(NearestLimit, SaysWhereTwoAreNotToldApart) {
  const std::vector<Record> records{latency_of("native", "native", 100, 0.88),
                                    compared(latency_of("aten", "torch", 101, 0.87), 1.01, 0.98, 1.04)};
  EXPECT_THAT(nearest_limit_text(records), HasSubstr("(0.980 to 1.040): inconclusive\n"));
}

TEST(NearestLimit, WhereTheBaselineComesNextItsRatioIsTheInverse) {
  const std::vector<Record> records{latency_of("native", "native", 300, 0.3),
                                    compared(latency_of("aten", "torch", 100, 0.9), 0.33, 0.32, 0.34)};
  EXPECT_EQ(nearest_limit_text(records),
            "nearest the limit: gemv D=4096 bf16: aten [torch] (90.0 % ±1.0), then native: "
            "3.030 x the time (2.941 to 3.125)\n");
  const std::vector<Record> alike{latency_of("native", "native", 101, 0.3),
                                  compared(latency_of("aten", "torch", 100, 0.9), 0.872, 0.565, 1.544)};
  EXPECT_THAT(nearest_limit_text(alike), HasSubstr("1.147 x the time (0.648 to 1.770): inconclusive\n"));
}

TEST(NearestLimit, WithoutAPairedRatioItSaysThatItTookTheMedians) {
  const std::vector<Record> records{latency_of("native", "native", 300, 0.2),
                                    compared(latency_of("aten", "torch", 100, 0.9), 0.33, 0.32, 0.34),
                                    compared(latency_of("onednn", "native", 200, 0.4), 0.67, 0.66, 0.68)};
  EXPECT_THAT(nearest_limit_text(records),
              HasSubstr("then onednn [native]: 2.000 x the time, by the medians\n"));
}

TEST(NearestLimit, OneBackendOrOneThatFailedIsNoComparison) {
  Record failed = latency_of("aten", "torch", 1, 0.9);
  failed.outcome = {Outcome::Kind::kFailed, "boom"};
  EXPECT_EQ(nearest_limit_text({latency_of("native", "native", 100, 0.88), failed}), "");
  failed.kept_wrong = true;
  EXPECT_EQ(nearest_limit_text({latency_of("native", "native", 100, 0.88), failed}), "")
      << "timed, but wrong";
  Record other = latency_of("native", "native", 100, 0.88);
  other.axes = {{"D", "8192"}, {"dtype", "bf16"}};
  EXPECT_EQ(nearest_limit_text({latency_of("native", "native", 100, 0.88), other}), "");
}

PlotOptions small() {
  PlotOptions options;
  options.width = 40;
  options.height = 5;
  return options;
}

std::string plot(const std::vector<PlotLine>& lines, const PlotOptions& options) {
  return line_plot(lines, options);
}

TEST(LinePlot, DrawsPointsAxesAndLegend) {
  EXPECT_EQ(
      plot({{"read", {{1024, 40}, {4096, 40}, {65536, 10}}}, {"write", {{65536, 20}, {1024, 20}}}}, small()),
      R"(GB/s
40.0 ┤●··········●···
30.0 ┤               ·······
20.0 ┤○································○
10.0 ┤                              ···●
   0 ┤
     └┬────────────────┬───────────────┬
    1 KiB            8 KiB        64 KiB
                 working set
  ● read  ○ write
)");
}

TEST(LinePlot, LogScale) {
  PlotOptions options = small();
  options.log_y = true;
  EXPECT_EQ(plot({{"read", {{1024, 100}, {1048576, 1}}}}, options), R"(GB/s
 100 ┤●····
20.0 ┤     ········
10.0 ┤             ········
2.00 ┤                     ········
1.00 ┤                             ····●
     └┬────────────┬────────────┬───────
    1 KiB       16 KiB       256 KiB
                 working set
  ● read
)");
}

TEST(LinePlot, PlainNumbersOnTheXAxis) {
  PlotOptions options = small();
  options.log_x = false;
  options.x_label = "run";
  options.y_label = "us";
  EXPECT_EQ(plot({{"time", {{0, 1}, {10, 2}}}}, options), R"(us
 2.00 ┤                         ·······●
 1.50 ┤         ················
 1.00 ┤●········
0.500 ┤
    0 ┤
      └┬───────────────┬───────────────┬
       0             5.00           10.0
                      run
  ● time
)");
}

TEST(LinePlot, ASteepLineHasNoGaps) {
  PlotOptions options = small();
  options.log_x = false;
  options.x_label = options.y_label = "";
  EXPECT_EQ(plot({{"fall", {{0, 4}, {1, 4}, {1.02, 0}, {2, 0}}}}, options), R"(4.00 ┤●················●
3.00 ┤                 ·
2.00 ┤                 ·
1.00 ┤                 ·
   0 ┤                 ●···············●
     └┬────────────────┬───────────────┬
      0              1.00           2.00
  ● fall
)");
}

TEST(LinePlot, KeepsItsWidthAndHeight) {
  PlotLine line{"read", {}};
  for (double x = 4096; x < 4e9; x *= 2) line.points.emplace_back(x, 1e6 / std::log2(x));
  const std::vector<std::string> lines = split(plot({line}, {}), '\n');
  EXPECT_EQ(lines.size(), 18U + 6U);
  for (const std::string& text : lines) EXPECT_LE(display_width(text), 70U) << text;
}

TEST(LinePlot, LeavesOutWhatTheScaleCannotShow) {
  PlotOptions options = small();
  options.log_y = true;
  const std::vector<std::pair<double, double>> good{{1024, 1}, {2048, 2}};
  std::vector<std::pair<double, double>> bad = good;
  bad.insert(bad.end(), {{0, 1}, {-5, 1}, {4096, 0}, {4096, std::nan("")}, {INFINITY, 1}, {4096, INFINITY}});
  EXPECT_EQ(plot({{"x", bad}}, options), plot({{"x", good}}, options));
}

TEST(LinePlot, OnePointAndNone) {
  EXPECT_THAT(plot({{"x", {{1024, 3}}}}, small()), HasSubstr("3.00 ┤                 ●\n"));
  EXPECT_THAT(plot({{"x", {{1024, 0}}}}, small()), HasSubstr("●"));
  EXPECT_EQ(plot({{"x", {}}}, small()), "(nothing to plot)\n");
  EXPECT_EQ(plot({}, small()), "(nothing to plot)\n");
}

}  // namespace
}  // namespace headroom
