// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/bandwidth_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headroom/base/text.h"

namespace headroom {
namespace {

using testing::HasSubstr;

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
