// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "analysis_run.h"
#include "headroom/base/error.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

TEST(UtilizationAnalysis, OneDevice) {
  TraceBuilder builder;
  builder.device(0, "V100");
  builder.op("aten::mm", 0, 10);
  builder.runtime("cudaLaunchKernel", 1, 1, 1);
  builder.kernel("says nothing", 100, 30, 1);
  builder.kernel("volta_sgemm", 120, 20);  // no op: by name; the union with the other is 40
  builder.copy(150, 10);
  builder.kernel("ncclKernel", 180, 20, kNoCorrelation, 0, 20);
  builder.step(3, 90, 60);  // 90..150: busy 100..140
  const AnalysisResult result = run_analysis("utilization", builder.trace);
  const DataTable& devices = table_of(result, "devices");
  ASSERT_EQ(devices.rows.size(), 1U);
  EXPECT_EQ(text(devices, 0, "name"), "V100");
  EXPECT_EQ(integer(devices, 0, "span_ns"), 100);
  EXPECT_EQ(integer(devices, 0, "busy_ns"), 70);
  EXPECT_EQ(integer(devices, 0, "compute_ns"), 40);
  EXPECT_EQ(integer(devices, 0, "exposed_communication_ns"), 20);
  EXPECT_EQ(integer(devices, 0, "exposed_memory_ns"), 10);
  EXPECT_EQ(integer(devices, 0, "idle_ns"), 30);
  EXPECT_EQ(integer(devices, 0, "matmul_convolution_ns"), 40);
  EXPECT_DOUBLE_EQ(headline(result, "utilization"), 0.7);
  EXPECT_DOUBLE_EQ(headline(result, "idle_share"), 0.3);
  EXPECT_DOUBLE_EQ(headline(result, "matmul_convolution_share"), 0.4);
  const DataTable& rules = table_of(result, "matmul_convolution");
  EXPECT_EQ(integer(rules, 0, "time_ns"), 40);  // by launching op
  EXPECT_EQ(integer(rules, 1, "time_ns"), 20);  // by the kernels' names
  EXPECT_EQ(integer(rules, 2, "time_ns"), 20);
  const DataTable& within = table_of(result, "within_steps");
  EXPECT_EQ(integer(within, 0, "steps_ns"), 60);
  EXPECT_EQ(integer(within, 0, "busy_ns"), 40);
}

TEST(UtilizationAnalysis, DevicesAreApartAndAddUp) {
  TraceBuilder builder;
  builder.kernel("a", 0, 50);
  builder.kernel("a", 90, 10);
  builder.kernel("a", 0, 100, kNoCorrelation, 1);
  const AnalysisResult result = run_analysis("utilization", builder.trace);
  const DataTable& devices = table_of(result, "devices");
  ASSERT_EQ(devices.rows.size(), 3U);
  EXPECT_EQ(text(devices, 2, "device"), "all");
  EXPECT_EQ(integer(devices, 2, "span_ns"), 200);
  EXPECT_DOUBLE_EQ(headline(result, "utilization", "0"), 0.6);
  EXPECT_DOUBLE_EQ(headline(result, "utilization", "1"), 1.0);
  EXPECT_DOUBLE_EQ(headline(result, "utilization"), 0.8);
  EXPECT_FALSE(has_table(result, "within_steps"));
}

TEST(UtilizationAnalysis, ATraceWithoutGpuWorkSaysSo) {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 10);
  const AnalysisResult result = run_analysis("utilization", builder.trace);
  EXPECT_TRUE(result.headlines.empty());
  EXPECT_THAT(result.notes, testing::ElementsAre(testing::HasSubstr("no kernel, copy or set")));
}

TEST(UtilizationAnalysis, WorkOfNoDurationIsNoUtilization) {
  TraceBuilder builder;
  builder.kernel("a", 5, 0);
  const AnalysisResult result = run_analysis("utilization", builder.trace);
  EXPECT_TRUE(result.headlines.empty());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(table_of(result, "devices"), 0, "utilization")));
}

TEST(UtilizationAnalysis, AsPyTorch) {
  TraceBuilder builder;
  builder.kernel("volta_sgemm", 0, 2'000'000);
  builder.kernel("other", 1'000'000, 2'000'000);
  const AnalysisResult result =
      run_analysis("utilization", builder.trace, {{"pytorch-compat", ""}, {"length", "0.01"}});
  EXPECT_DOUBLE_EQ(headline(result, "utilization"), 0.3);
  EXPECT_DOUBLE_EQ(headline(result, "mm_conv_utilization"), 0.2);
  EXPECT_THROW(run_analysis("utilization", builder.trace, {{"pytorch-compat", ""}}), Error);
  EXPECT_THROW(run_analysis("utilization", builder.trace, {{"length", "1"}}), Error);
  EXPECT_THROW(run_analysis("utilization", builder.trace, {{"pytorch-compat", ""}, {"length", "x"}}), Error);
  AnalysisOptions options;
  options.set("pytorch-compat", "");
  EXPECT_TRUE(has(needs_of(*find_analysis("utilization"), options), Needs::kPython | Needs::kOthers));
}

}  // namespace
}  // namespace headroom::trace
