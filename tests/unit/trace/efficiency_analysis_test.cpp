// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "analysis_run.h"
#include "headroom/base/json.h"
#include "headroom/trace/work/device_work.h"
#include "headroom/trace/work/occupancy.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Occupancy, WhatTheFileSaysElseWhatFollowsFromTheLaunch) {
  TraceBuilder builder;
  builder.device(0, "V100", 80, 2048);  // 64 warps
  GpuDetail& said = builder.kernel("said", 0, 10);
  said.blocks_per_sm = 0.5F;
  said.occupancy_percent = 25;
  const auto blocks = blocks_per_multiprocessor(builder.trace, said);
  EXPECT_DOUBLE_EQ(blocks.value().value, 0.5);
  EXPECT_TRUE(blocks.value().is_of_file);
  EXPECT_DOUBLE_EQ(achieved_occupancy(builder.trace, said).value().value, 0.25);

  GpuDetail& launched = builder.kernel("launched", 0, 10);
  launched.grid[0] = 160;
  launched.grid[1] = launched.grid[2] = launched.block[1] = launched.block[2] = 1;
  launched.block[0] = 100;  // 4 warps, the last not full
  EXPECT_DOUBLE_EQ(blocks_per_multiprocessor(builder.trace, launched).value().value, 2);
  EXPECT_FALSE(blocks_per_multiprocessor(builder.trace, launched).value().is_of_file);
  EXPECT_DOUBLE_EQ(achieved_occupancy(builder.trace, launched).value().value, 8.0 / 64);
  launched.grid[0] = 80 * 100;
  EXPECT_DOUBLE_EQ(achieved_occupancy(builder.trace, launched).value().value, 1);

  const GpuDetail& silent = builder.kernel("silent", 0, 10);
  EXPECT_FALSE(blocks_per_multiprocessor(builder.trace, silent));
  EXPECT_FALSE(achieved_occupancy(builder.trace, silent));
}

TEST(EfficiencyAnalysis, OverTheSteps) {
  TraceBuilder builder;
  builder.device(0, "V100");
  builder.step(1, 0, 100);
  GpuDetail& first = builder.kernel("small", 0, 20);
  first.blocks_per_sm = 0.25F;
  first.occupancy_percent = 10;
  GpuDetail& second = builder.kernel("large", 80, 40);  // half of it after the step
  second.blocks_per_sm = 3;
  second.occupancy_percent = 50;
  const AnalysisResult result = run_analysis("efficiency", builder.trace);
  EXPECT_DOUBLE_EQ(headline(result, "sm_efficiency"), (0.25 * 20 + 1.0 * 20) / 100);
  EXPECT_DOUBLE_EQ(headline(result, "achieved_occupancy"), (0.1 * 20 + 0.5 * 20) / 40);
  const DataTable& kernels = table_of(result, "kernels");
  EXPECT_EQ(text(kernels, 0, "name"), "large");
  EXPECT_DOUBLE_EQ(number(kernels, 0, "sm_efficiency"), 1);
  EXPECT_DOUBLE_EQ(number(kernels, 0, "blocks_per_sm"), 3);
  EXPECT_TRUE(result.notes.empty());
}

TEST(EfficiencyAnalysis, BlocksOfKernelsAtOnceAddUpToOneAtMost) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100).blocks_per_sm = 0.75F;
  builder.kernel("b", 50, 100, kNoCorrelation, 0, 8).blocks_per_sm = 0.5F;
  const AnalysisResult result = run_analysis("efficiency", builder.trace);
  EXPECT_DOUBLE_EQ(headline(result, "sm_efficiency"), (0.75 * 50 + 1.0 * 50 + 0.5 * 50) / 150);
  EXPECT_THAT(result.notes, Contains(HasSubstr("of each device's own span")));
}

TEST(EfficiencyAnalysis, WhatTheFileDoesNotCarryIsSaid) {
  TraceBuilder builder;
  builder.kernel("silent", 0, 100);
  const AnalysisResult result = run_analysis("efficiency", builder.trace);
  EXPECT_TRUE(result.headlines.empty());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(table_of(result, "devices"), 0, "sm_efficiency")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 of 1 kernels carry neither blocks per SM")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 of 1 kernels carry nothing to tell their occupancy from")));
}

// The tensorboard plugin's own test: a trace, and the same with its counters of utilisation and SM efficiency
// added. To be seen in its display they were scaled: the one by 100, the other by 10.
TEST(EfficiencyAnalysis, EqualsTheCountersOfTheTensorboardPlugin) {
  const std::filesystem::path traces = std::filesystem::path(HEADROOM_SHARED) / "traces";
  if (!std::filesystem::exists(traces)) GTEST_SKIP() << "needs " << traces;
  const Trace trace = read(traces / "kineto__test_gpu_metrics_input.json");
  std::ifstream file(traces / "kineto__test_gpu_metrics_expected.json");
  const std::string expected_text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::pair<std::int64_t, double>> utilization, efficiency;
  const Json expected = parse_json(expected_text, "expected");
  for (const Json& event : expected["traceEvents"]) {
    if (event.value("ph", "") != "C") continue;
    const Json& value = event["args"].items().front().second;
    const std::pair<std::int64_t, double> point{1000 * event["ts"].get<std::int64_t>(), value.get<double>()};
    (event["name"] == "GPU 0 Utilization" ? utilization : efficiency).push_back(point);
  }
  // Each kernel's value at its start, and zero at its end; the first two only set the scale.
  std::map<std::int64_t, double> blocks_at;
  std::vector<Span> kernels;
  for (const GpuDetail& work : trace.gpu) {
    if (trace.events.category[work.event] != Category::kKernel) continue;
    const std::int64_t start = trace.events.start_ns[work.event], end = trace.events.end_ns(work.event);
    kernels.push_back({start, end});
    blocks_at[start] = std::min(1.0, blocks_per_multiprocessor(trace, work).value().value);
    blocks_at[end] = 0;
  }
  ASSERT_EQ(efficiency.size(), 2 + blocks_at.size());
  for (std::size_t i = 2; i < efficiency.size(); ++i)
    EXPECT_NEAR(efficiency[i].second / 10, blocks_at.at(efficiency[i].first), 1e-7);
  ASSERT_EQ(utilization.size(), 16U);
  const Spans busy = merged(kernels);
  for (std::size_t i = 2; i + 1 < utilization.size(); ++i) {
    const Span bucket{utilization[i].first, utilization[i + 1].first};
    EXPECT_NEAR(
        utilization[i].second / 100,
        static_cast<double>(length_within(busy, bucket)) / static_cast<double>(bucket.end - bucket.start),
        1e-12);
  }
}

}  // namespace
}  // namespace headroom::trace
