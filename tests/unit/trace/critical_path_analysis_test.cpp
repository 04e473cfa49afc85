// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "critical_path_view.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/trace/analysis.h"

namespace headroom::trace {
namespace {

const Analysis& critical_path_analysis() {
  const Analysis* found = find_analysis("critical-path");
  EXPECT_NE(found, nullptr);
  return *found;
}

TEST(CriticalPathAnalysis, TakesTheMiddleStepOrTheOneAskedFor) {
  TraceBuilder builder;
  for (int step = 0; step < 3; ++step) {
    builder.step(10 + step, 1000 * step, 1000);
    builder.op("op", 1000 * step + 100, 100 * (step + 1));
  }
  AnalysisOptions options;
  EXPECT_EQ(critical_path_analysis().analyze(builder.trace, options).headlines[0].value, 200);
  options.set("step", "12");
  EXPECT_EQ(critical_path_analysis().analyze(builder.trace, options).headlines[0].value, 300);
  options.set("step", "all");
  EXPECT_EQ(critical_path_analysis().analyze(builder.trace, options).headlines[0].value, 600);
  options.set("step", "99");
  EXPECT_THROW(critical_path_analysis().analyze(builder.trace, options), Error);
}

TEST(CriticalPathAnalysis, TakesAnAnnotation) {
  TraceBuilder builder;
  builder.annotation("[measure|forward]", 0, 100);
  builder.op("op", 10, 20);
  builder.annotation("[measure|forward]", 1000, 100);
  builder.op("op", 1010, 30);
  AnalysisOptions options;
  options.set("annotation", "measure");
  options.set("step", "0");
  EXPECT_EQ(critical_path_analysis().analyze(builder.trace, options).headlines[0].value, 20);
  options.set("step", "1");
  EXPECT_EQ(critical_path_analysis().analyze(builder.trace, options).headlines[0].value, 30);
  options.set("step", "2");
  EXPECT_THROW(critical_path_analysis().analyze(builder.trace, options), Error);
  options.set("annotation", "nowhere");
  EXPECT_THROW(critical_path_analysis().analyze(builder.trace, options), Error);
}

TEST(CriticalPathAnalysis, ClassesSumToThePathAndElapsedToItsTime) {
  Waiting waiting("cudaDeviceSynchronize");
  const AnalysisResult result = critical_path_analysis().analyze(waiting.builder.trace, {});
  const DataTable& path = result.tables[0];
  const DataTable& classes = result.tables[1];
  std::int64_t time = 0, elapsed = 0;
  for (const auto& row : classes.rows) {
    time += std::get<std::int64_t>(row[1]);
    elapsed += std::get<std::int64_t>(row[4]);
  }
  EXPECT_EQ(time, 1070);
  EXPECT_EQ(std::get<std::int64_t>(path.rows[0][2]), 1070);
  EXPECT_EQ(elapsed, 1250);
  EXPECT_EQ(std::get<std::int64_t>(path.rows[0][3]), 1250);
  for (const DataTable& table : result.tables) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
  }
}

TEST(CriticalPathAnalysis, TheOverlayMarksThePathInAChromeTrace) {
  Waiting waiting("cudaDeviceSynchronize");
  waiting.builder.op("not \"on\" it", 0, 3, -1, "2");
  AnalysisOptions options;
  options.set("overlay", "out.json");
  const AnalysisResult result = critical_path_analysis().analyze(waiting.builder.trace, options);
  ASSERT_EQ(result.files.size(), 1U);
  EXPECT_EQ(result.files[0].path, "out.json");
  const Json overlay = parse_json(result.files[0].content, "overlay");
  std::map<std::string, int> critical, arrows;
  double sliced_us = 0;
  for (const Json& event : overlay["traceEvents"]) {
    const std::string phase = event["ph"].string();
    if (phase == "s" || phase == "f") ++arrows[phase];
    if (phase != "X") continue;
    if (event["cat"] == "critical_path") {
      sliced_us += event["dur"].get<double>();
    } else {
      critical[event["name"].get<std::string>()] = event["args"]["critical"].get<int>();
    }
  }
  EXPECT_EQ(critical, (std::map<std::string, int>{{"cudaLaunchKernel", 1},
                                                  {"gemm", 1},
                                                  {"cudaDeviceSynchronize", 1},
                                                  {"after", 1},
                                                  {"not \"on\" it", 0}}));
  EXPECT_EQ(arrows, (std::map<std::string, int>{{"s", 2}, {"f", 2}}));
  EXPECT_NEAR(sliced_us, 1.070, 1e-9);
}

TEST(CriticalPathAnalysis, SaysThatThereIsNothing) {
  const TraceBuilder builder;
  const AnalysisResult result = critical_path_analysis().analyze(builder.trace, {});
  EXPECT_EQ(result.headlines[0].value, 0);
  EXPECT_FALSE(result.notes.empty());
}

}  // namespace
}  // namespace headroom::trace
