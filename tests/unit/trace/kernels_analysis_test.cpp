// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>

#include "analysis_run.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

TraceBuilder two_kernels_and_a_collective() {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 10);
  builder.runtime("cudaLaunchKernel", 1, 1, 1);
  GpuDetail& first = builder.kernel("gemm", 0, 10, 1);
  first.grid[0] = 8;
  first.grid[1] = first.grid[2] = 1;
  first.block[0] = 128;
  first.block[1] = first.block[2] = 1;
  builder.kernel("gemm", 20, 30);
  builder.kernel("ncclKernel", 40, 20, kNoCorrelation, 0, 20);  // 10 of it over the gemm
  builder.copy(100, 5);
  return builder;
}

TEST(KernelsAnalysis, ByName) {
  const AnalysisResult result = run_analysis("kernels", two_kernels_and_a_collective().trace);
  const DataTable& kernels = table_of(result, "kernels");
  ASSERT_EQ(kernels.rows.size(), 3U);
  expect_row(kernels, 0,
             {{"name", "gemm"}, {"count", 2}, {"total_ns", 40}, {"share", 40.0 / 65}, {"mean_ns", 20.0}});
  EXPECT_DOUBLE_EQ(number(kernels, 0, "std_ns"), std::sqrt(200.0));  // sample variance: (10^2 + 10^2) / 1
  expect_row(kernels, 0, {{"min_ns", 10}, {"max_ns", 30}});
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(kernels, 1, "std_ns")));
  expect_headlines(result, {{"gpu_events", 4}, {"gpu_time_ns", 65}});
}

TEST(KernelsAnalysis, TypesAndWhatRanAtOnce) {
  const AnalysisResult result = run_analysis("kernels", two_kernels_and_a_collective().trace);
  const DataTable& types = table_of(result, "types");
  EXPECT_EQ(integer(types, row_with(types, "type", "compute"), "merged_ns"), 40);
  EXPECT_EQ(integer(types, row_with(types, "type", "communication"), "merged_ns"), 20);
  EXPECT_EQ(integer(types, row_with(types, "type", "memory"), "sum_ns"), 5);
  const DataTable& at_once = table_of(result, "combinations");
  EXPECT_EQ(integer(at_once, row_with(at_once, "types", "compute"), "time_ns"), 30);
  EXPECT_EQ(integer(at_once, row_with(at_once, "types", "compute + communication"), "time_ns"), 10);
  EXPECT_EQ(integer(at_once, row_with(at_once, "types", "communication"), "time_ns"), 10);
  EXPECT_EQ(integer(at_once, row_with(at_once, "types", "memory"), "time_ns"), 5);
  EXPECT_EQ(at_once.rows.size(), 4U);
}

TEST(KernelsAnalysis, ByTypeShapeAndOp) {
  const TraceBuilder builder = two_kernels_and_a_collective();
  const AnalysisResult by_type = run_analysis("kernels", builder.trace, {{"by", "type"}});
  EXPECT_EQ(text(by_type, "kernels", 0, "type"), "compute");
  const DataTable shapes = table_of(run_analysis("kernels", builder.trace, {{"by", "shape"}}), "kernels");
  EXPECT_EQ(shapes.rows.size(), 4U);
  EXPECT_EQ(text(shapes, row_with(shapes, "grid", "8x1x1"), "block"), "128x1x1");
  const DataTable ops = table_of(run_analysis("kernels", builder.trace, {{"by", "op"}}), "kernels");
  ASSERT_EQ(ops.rows.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(ops, 0, "op")));  // 55 ns without a known op
  EXPECT_EQ(integer(ops, row_with(ops, "op", "aten::mm"), "total_ns"), 10);
}

TEST(KernelsAnalysis, ReadsNoMoreThanItIsAskedFor) {
  const Analysis& kernels = *find_analysis("kernels");
  AnalysisOptions options;
  constexpr Needs kCategories = Needs::kLaunches | Needs::kOps;
  EXPECT_EQ(needs_of(kernels, options), kCategories);
  options.set("by", "shape");
  EXPECT_EQ(needs_of(kernels, options), kCategories | Needs::kGpuArguments);
  options.set("by", "op");
  EXPECT_EQ(needs_of(kernels, options), kCategories);
  options.set("by", "colour");
  EXPECT_THROW(needs_of(kernels, options), Error);
}

TEST(KernelsAnalysis, ByCategory) {
  const AnalysisResult result = run_analysis("kernels", two_kernels_and_a_collective().trace);
  EXPECT_EQ(text(result, "kernels", 0, "category"), "GEMM");
  const DataTable& categories = table_of(result, "categories");
  ASSERT_EQ(categories.rows.size(), 3U);
  expect_row(categories, 0, {{"category", "GEMM"}, {"count", 2}, {"total_ns", 40}, {"share", 40.0 / 65}});
  EXPECT_EQ(text(categories, 1, "category"), "communication");
  EXPECT_EQ(text(categories, 2, "category"), "memory");
}

/// 10 ns each, 2 ns apart: 'G' a product, ' ' a copy.
TraceBuilder kernels_in_a_row(const std::string& letters, std::int64_t stream = 7) {
  TraceBuilder builder;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto at = static_cast<std::int64_t>(12 * i);
    if (letters[i] == ' ') {
      builder.copy(at, 10, kNoCorrelation, 0, stream);
    } else {
      builder.kernel(letters[i] == 'G' ? "sgemm" : std::string("add_") + letters[i], at, 10, kNoCorrelation,
                     0, stream);
    }
  }
  return builder;
}

std::vector<std::string> sequences_of(const TraceBuilder& builder) {
  const AnalysisResult result = run_analysis("kernels", builder.trace, {}, 0);
  const DataTable& table = table_of(result, "sequences");
  std::vector<std::string> found;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    std::string names = text(table, row, "kernels");
    for (std::size_t at = 0; (at = names.find("add_")) != std::string::npos;) names.erase(at, 4);
    found.push_back(std::to_string(integer(table, row, "count")) + " x " + names);
  }
  return found;
}

TEST(KernelsAnalysis, SequencesThatAFusionWouldTake) {
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcGabcGabc")), ElementsAre("3 x a + b + c"));
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcGabcGabGab")), ElementsAre("4 x a + b"));
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcdeGabcdeGdeGde")),
              ElementsAre("2 x a + b + c + d + e", "2 x d + e"));
  EXPECT_THAT(sequences_of(kernels_in_a_row("aGbGaGb")), IsEmpty());
  EXPECT_THAT(sequences_of(kernels_in_a_row("a b a b")), IsEmpty());
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcd")), IsEmpty());
  EXPECT_THAT(sequences_of(kernels_in_a_row("aaa")), IsEmpty());
  EXPECT_THAT(sequences_of(kernels_in_a_row("aaaa")), ElementsAre("2 x a x2"));
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcdefGabcdef")), ElementsAre("2 x a + b + c + d + e"));
}

TEST(KernelsAnalysis, SequencesOfOneTextAreNumbered) {
  TraceBuilder builder;
  std::int64_t at = 0;
  for (const char* type : {"float", "float", "double", "double"}) {
    for (const char* functor : {"AddFunctor", "MulFunctor"}) {
      const std::string of = std::string("at::native::") + functor + "<" + type + ">";
      builder.kernel("void at::native::vectorized_elementwise_kernel<4, " + of + ">(int)", at += 10, 5);
    }
    builder.copy(at += 10, 5);
  }
  EXPECT_THAT(
      sequences_of(builder),
      ElementsAre(
          "2 x vectorized_elementwise_kernel<AddFunctor> + vectorized_elementwise_kernel<MulFunctor>",
          "2 x vectorized_elementwise_kernel<AddFunctor> + vectorized_elementwise_kernel<MulFunctor> #2"));
}

TEST(KernelsAnalysis, SequencesHaveTheirTimesAndGaps) {
  const DataTable table = table_of(run_analysis("kernels", kernels_in_a_row("abcGabc").trace), "sequences");
  ASSERT_EQ(table.rows.size(), 1U);
  expect_row(table, 0, {{"length", 3}, {"total_ns", 60}, {"gaps_ns", 8}, {"share", 60.0 / 70}});
}

TEST(KernelsAnalysis, LeavesOutRowsAndSaysSo) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) builder.kernel("k" + std::to_string(i), 10 * i, 5);
  const AnalysisResult result = run_analysis("kernels", builder.trace, {}, 3);
  EXPECT_EQ(table_of(result, "kernels").rows.size(), 3U);
  EXPECT_THAT(result.notes, Contains("2 more rows: --top 0 shows all"));
  EXPECT_EQ(table_of(run_analysis("kernels", builder.trace, {}, 0), "kernels").rows.size(), 5U);
}

TEST(DurationStats, SumsDoNotWrapRound) {
  DurationStats stats;
  EXPECT_EQ(stats.standard_deviation_ns(), 0.0);
  for (int i = 0; i < 5; ++i) stats.add(std::int64_t{1} << 61);
  EXPECT_EQ(stats.total_ns(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(saturating_add(std::numeric_limits<std::int64_t>::min(), -1),
            std::numeric_limits<std::int64_t>::min());
}

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
  launched.block[0] = 100;  // 4 warps, the last partial
  EXPECT_DOUBLE_EQ(blocks_per_multiprocessor(builder.trace, launched).value().value, 2);
  EXPECT_FALSE(blocks_per_multiprocessor(builder.trace, launched).value().is_of_file);
  EXPECT_DOUBLE_EQ(achieved_occupancy(builder.trace, launched).value().value, 8.0 / 64);
  launched.grid[0] = 80 * 100;
  EXPECT_DOUBLE_EQ(achieved_occupancy(builder.trace, launched).value().value, 1);

  const GpuDetail& silent = builder.kernel("silent", 0, 10);
  EXPECT_FALSE(blocks_per_multiprocessor(builder.trace, silent));
  EXPECT_FALSE(achieved_occupancy(builder.trace, silent));
}

using EfficiencyAnalysis = BuiltTrace;

TEST_F(EfficiencyAnalysis, OverTheSteps) {
  builder.device(0, "V100");
  builder.step(1, 0, 100);
  GpuDetail& first = builder.kernel("small", 0, 20);
  first.blocks_per_sm = 0.25F;
  first.occupancy_percent = 10;
  GpuDetail& second = builder.kernel("large", 80, 40);  // half of it after the step
  second.blocks_per_sm = 3;
  second.occupancy_percent = 50;
  const AnalysisResult result = run("efficiency");
  expect_headlines(result, {{"sm_efficiency", (0.25 * 20 + 1.0 * 20) / 100},
                            {"achieved_occupancy", (0.1 * 20 + 0.5 * 20) / 40}});
  const DataTable& kernels = table_of(result, "kernels");
  expect_row(kernels, 0, {{"name", "large"}, {"sm_efficiency", 1.0}, {"blocks_per_sm", 3.0}});
  EXPECT_TRUE(result.notes.empty());
}

TEST_F(EfficiencyAnalysis, BlocksOfKernelsAtOnceAddUpToOneAtMost) {
  builder.kernel("a", 0, 100).blocks_per_sm = 0.75F;
  builder.kernel("b", 50, 100, kNoCorrelation, 0, 8).blocks_per_sm = 0.5F;
  const AnalysisResult result = run("efficiency");
  EXPECT_DOUBLE_EQ(headline(result, "sm_efficiency"), (0.75 * 50 + 1.0 * 50 + 0.5 * 50) / 150);
  EXPECT_THAT(result.notes, Contains(HasSubstr("of each device's own span")));
}

TEST_F(EfficiencyAnalysis, WhatTheFileDoesNotCarryIsSaid) {
  builder.kernel("silent", 0, 100);
  const AnalysisResult result = run("efficiency");
  EXPECT_TRUE(result.headlines.empty());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(table_of(result, "devices"), 0, "sm_efficiency")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 of 1 kernels have neither blocks per SM")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 of 1 kernels have no data on occupancy")));
}

// The tensorboard plugin's test, with counters of utilisation and SM efficiency, scaled by 100 and 10.
TEST_F(EfficiencyAnalysis, EqualsTheCountersOfTheTensorboardPlugin) {
  const std::filesystem::path traces = std::filesystem::path(HEADROOM_SHARED) / "traces";
  if (!std::filesystem::exists(traces)) GTEST_SKIP() << "needs " << traces;
  const Trace trace = read(traces / "kineto__test_gpu_metrics_input.json");
  std::vector<std::pair<std::int64_t, double>> utilization, efficiency;
  const Json expected = parse_json(read_file(traces / "kineto__test_gpu_metrics_expected.json"), "expected");
  for (const Json& event : expected["traceEvents"]) {
    if (event.value("ph", "") != "C") continue;
    const Json& value = event["args"].items().front().second;
    const std::pair<std::int64_t, double> point{1000 * event["ts"].get<std::int64_t>(), value.get<double>()};
    (event["name"] == "GPU 0 Utilization" ? utilization : efficiency).push_back(point);
  }
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

using UtilizationAnalysis = BuiltTrace;

TEST_F(UtilizationAnalysis, OneDevice) {
  builder.device(0, "V100");
  builder.op("aten::mm", 0, 10);
  builder.launch(1, 1, "says nothing", 100, 30, 1);
  builder.kernel("volta_sgemm", 120, 20);  // by name: no op; the union is 40
  builder.copy(150, 10);
  builder.kernel("ncclKernel", 180, 20, kNoCorrelation, 0, 20);
  builder.step(3, 90, 60);  // 90..150: busy 100..140
  const AnalysisResult result = run("utilization");
  const DataTable& devices = table_of(result, "devices");
  ASSERT_EQ(devices.rows.size(), 1U);
  expect_row(devices, 0,
             {{"name", "V100"},
              {"span_ns", 100},
              {"busy_ns", 70},
              {"compute_ns", 40},
              {"exposed_communication_ns", 20},
              {"exposed_memory_ns", 10},
              {"idle_ns", 30},
              {"matmul_convolution_ns", 40}});
  expect_headlines(result, {{"utilization", 0.7}, {"idle_share", 0.3}, {"matmul_convolution_share", 0.4}});
  const DataTable& rules = table_of(result, "matmul_convolution");
  EXPECT_EQ(integer(rules, 0, "time_ns"), 40);  // by launching op
  EXPECT_EQ(integer(rules, 1, "time_ns"), 20);
  EXPECT_EQ(integer(rules, 2, "time_ns"), 20);
  const DataTable& within = table_of(result, "within_steps");
  expect_row(within, 0, {{"steps_ns", 60}, {"busy_ns", 40}});
}

TEST_F(UtilizationAnalysis, DevicesAreApartAndAddUp) {
  builder.kernel("a", 0, 50);
  builder.kernel("a", 90, 10);
  builder.kernel("a", 0, 100, kNoCorrelation, 1);
  const AnalysisResult result = run("utilization");
  const DataTable& devices = table_of(result, "devices");
  ASSERT_EQ(devices.rows.size(), 3U);
  expect_row(devices, 2, {{"device", "all"}, {"span_ns", 200}});
  expect_headlines(result, {{"utilization", 0.6, "0"}, {"utilization", 1.0, "1"}, {"utilization", 0.8}});
  EXPECT_FALSE(has_table(result, "within_steps"));
}

TEST_F(UtilizationAnalysis, ATraceWithoutGpuWorkSaysSo) {
  builder.op("aten::mm", 0, 10);
  const AnalysisResult result = run("utilization");
  EXPECT_TRUE(result.headlines.empty());
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("no GPU work")));
}

TEST_F(UtilizationAnalysis, WorkOfNoDurationIsNoUtilization) {
  builder.kernel("a", 5, 0);
  const AnalysisResult result = run("utilization");
  EXPECT_TRUE(result.headlines.empty());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(table_of(result, "devices"), 0, "utilization")));
}

TEST_F(UtilizationAnalysis, AsPyTorch) {
  builder.kernel("volta_sgemm", 0, 2'000'000);
  builder.kernel("other", 1'000'000, 2'000'000);
  const AnalysisResult result = run("utilization", {{"pytorch-compat", ""}, {"length", "0.01"}});
  expect_headlines(result, {{"utilization", 0.3}, {"mm_conv_utilization", 0.2}});
  EXPECT_THROW(run("utilization", {{"pytorch-compat", ""}}), Error);
  EXPECT_THROW(run("utilization", {{"length", "1"}}), Error);
  EXPECT_THROW(run("utilization", {{"pytorch-compat", ""}, {"length", "x"}}), Error);
  AnalysisOptions options;
  options.set("pytorch-compat", "");
  EXPECT_TRUE(has(needs_of(*find_analysis("utilization"), options), Needs::kPython | Needs::kOthers));
}

}  // namespace
}  // namespace headroom::trace
