// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/launch_calls.h"

#include <gmock/gmock.h>

#include "headroom/base/error.h"
#include "result_view.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

/// The row of the spread table for a kind and quantity.
std::size_t spread_row(const ResultView& view, const std::string& kind, const std::string& quantity) {
  for (std::size_t row = 0; row < view.rows("launches"); ++row) {
    if (view.text("launches", row, "kind") == kind && view.text("launches", row, "quantity") == quantity)
      return row;
  }
  throw std::out_of_range(kind + " " + quantity);
}

TEST(Launch, DelayIsFromTheEndOfTheCallToTheStartOfTheWork) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 1000, 100, 1);
  builder.kernel("a", 1500, 300, 1);  // 400 after its call
  builder.runtime("cudaLaunchKernel", 2000, 100, 2);
  builder.kernel("b", 2060, 300, 2);  // during its call: 40 early
  builder.runtime("cudaMemcpyAsync", 3000, 10, 3);
  builder.copy(3010, 5, 3);
  builder.runtime("cudaMemsetAsync", 4000, 10, 4);
  builder.set(4110, 5, 4);
  const ResultView view = view_analysis("launch", builder.trace, option("each"));
  EXPECT_EQ(view.integer("each", 0, "delay_ns"), 400);
  EXPECT_EQ(view.integer("each", 0, "signed_delay_ns"), 400);
  EXPECT_EQ(view.integer("each", 1, "delay_ns"), 0);
  EXPECT_EQ(view.integer("each", 1, "signed_delay_ns"), -40);
  EXPECT_EQ(view.integer("each", 2, "delay_ns"), 0);
  EXPECT_EQ(view.text("each", 3, "kind"), "memset");
  EXPECT_EQ(view.integer("each", 3, "delay_ns"), 100);
  const std::size_t delay = spread_row(view, "kernel", "delay");
  EXPECT_EQ(view.integer("launches", delay, "count"), 2);
  EXPECT_DOUBLE_EQ(view.number("launches", delay, "median_ns"), 200);
  EXPECT_DOUBLE_EQ(view.number("launches", delay, "p95_ns"), 380);
  EXPECT_DOUBLE_EQ(view.number("launches", delay, "p99_ns"), 396);
  EXPECT_EQ(view.integer("launches", delay, "max_ns"), 400);
  EXPECT_EQ(view.integer("launches", spread_row(view, "kernel", "signed delay"), "total_ns"), 360);
  EXPECT_EQ(view.integer("launches", spread_row(view, "kernel", "call"), "total_ns"), 200);
  EXPECT_EQ(view.integer("launches", spread_row(view, "memcpy", "GPU work"), "total_ns"), 5);
  EXPECT_DOUBLE_EQ(view.headline("launch_delay_median_ns"), 50);
  EXPECT_DOUBLE_EQ(view.headline("launch_call_total_ns"), 220);
  EXPECT_EQ(view.rows("graphs"), 0U);
}

TEST(Launch, AnyRuntimeOrDriverCallWithWorkCountsWhateverItsName) {
  TraceBuilder builder;
  builder.runtime("hipExtModuleLaunchKernel", 0, 10, 1);
  builder.kernel("a", 100, 10, 1);
  const std::uint32_t host = builder.thread(TraceBuilder::kHostPid, "1");
  builder.event(Category::kDriver, "cuLaunchKernelEx", 200, 10, host, 2);
  builder.kernel("b", 300, 10, 2);
  builder.runtime("aBrandNewWayToLaunch", 400, 10, 3);
  builder.kernel("c", 500, 10, 3);
  builder.runtime("cudaStreamSynchronize", 600, 100, 4);  // nothing on the GPU has its number
  builder.op("aten::add", 0, 1000);                       // no call, whatever number it has
  builder.trace.events.correlation.back() = 3;
  const ResultView view = view_analysis("launch", builder.trace);
  ASSERT_EQ(view.rows("functions"), 3U);
  EXPECT_EQ(view.integer("launches", spread_row(view, "kernel", "call"), "count"), 3);
}

TEST(Launch, GraphsAreApart) {
  TraceBuilder builder;
  builder.runtime("cudaGraphLaunch", 1000, 200, 1);
  builder.kernel("second", 1700, 100, 1);
  builder.kernel("first", 1500, 100, 1);
  builder.kernel("on another stream", 1550, 400, 1, 0, 8);
  builder.runtime("hipGraphLaunch", 3000, 10, 2);  // of a graph of one kernel
  builder.kernel("only", 3020, 10, 2);
  builder.runtime("cudaLaunchKernel", 5000, 10, 3);
  builder.kernel("plain", 5020, 5, 3);
  const ResultView view = view_analysis("launch", builder.trace);
  ASSERT_EQ(view.rows("graphs"), 2U);
  EXPECT_EQ(view.integer("graphs", 0, "works"), 3);
  EXPECT_EQ(view.integer("graphs", 0, "delay_ns"), 300);  // of the first to start, not the first in the file
  EXPECT_EQ(view.integer("graphs", 0, "span_ns"), 450);
  EXPECT_EQ(view.integer("graphs", 0, "gpu_ns"), 600);
  EXPECT_EQ(view.integer("graphs", 1, "works"), 1);
  EXPECT_EQ(view.integer("launches", spread_row(view, "kernel", "call"), "count"), 1);
  EXPECT_EQ(view.integer("launches", spread_row(view, "graph", "GPU work"), "max_ns"), 600);
  EXPECT_DOUBLE_EQ(view.headline("short_kernel_share"), 1);
  EXPECT_TRUE(view.notes("shorter than the call"));
}

TEST(Launch, ShortKernelsAndOutliers) {
  TraceBuilder builder;
  builder.op("aten::relu", 0, 1'000'000);
  builder.runtime("cudaLaunchKernel", 1000, 10, 1);
  builder.kernel("k", 2000, 9, 1);
  builder.runtime("cudaLaunchKernel", 3000, 10, 2);
  builder.kernel("k", 4000, 10, 2);  // as long as its call: not short
  builder.runtime("cudaLaunchKernel", 5000, 60'000, 3);
  builder.kernel("slow to launch", 300'000, 90'000, 3);
  const ResultView view = view_analysis("launch", builder.trace);
  ASSERT_EQ(view.rows("short_kernels"), 1U);
  EXPECT_EQ(view.integer("short_kernels", 0, "launches"), 2);
  EXPECT_EQ(view.integer("short_kernels", 0, "short"), 1);
  EXPECT_EQ(view.integer("short_kernels", 0, "gpu_ns"), 19);
  EXPECT_EQ(view.integer("short_kernels", 0, "call_ns"), 20);
  EXPECT_DOUBLE_EQ(view.headline("short_kernel_share"), 1.0 / 3);
  ASSERT_EQ(view.rows("outliers"), 1U);
  EXPECT_EQ(view.integer("outliers", 0, "call_ns"), 60'000);
  EXPECT_EQ(view.text("outliers", 0, "op"), "aten::relu");
  EXPECT_EQ(view.text("outliers", 0, "starts"), "slow to launch");
  EXPECT_EQ(view.integer("functions", 0, "outliers"), 1);
  EXPECT_EQ(view.integer("functions", 0, "delayed"), 1);
  EXPECT_FALSE(view.has("each"));  // only when asked for
}

TEST(Launch, CutoffsAreOptions) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 100, 1);
  builder.kernel("k", 300, 10, 1);
  EXPECT_EQ(view_analysis("launch", builder.trace, option("call-cutoff", "99ns")).rows("outliers"), 1U);
  EXPECT_EQ(view_analysis("launch", builder.trace, option("call-cutoff", "100ns")).rows("outliers"), 0U);
  EXPECT_EQ(view_analysis("launch", builder.trace, option("delay-cutoff", "199ns"))
                .integer("functions", 0, "delayed"),
            1);
  EXPECT_THROW(view_analysis("launch", builder.trace, option("delay-cutoff", "?")), Error);
}

TEST(Launch, WorkWithoutALaunchIsCounted) {
  TraceBuilder builder;
  builder.kernel("no correlation", 0, 10);
  builder.kernel("launch not recorded", 20, 10, 77);
  builder.copy(40, 10, 78);
  builder.runtime("cudaLaunchKernel", 50, 5, 79);
  builder.kernel("launched", 60, 10, 79);
  const ResultView view = view_analysis("launch", builder.trace);
  EXPECT_EQ(view.integer("coverage", 0, "works"), 3);
  EXPECT_EQ(view.integer("coverage", 0, "without_launch"), 2);
  EXPECT_EQ(view.integer("coverage", 1, "launched"), 0);
  EXPECT_TRUE(view.notes("3 of 4 pieces of GPU work have no launch"));
}

TEST(Launch, WorkThatStartsBeforeItsLaunchIsSaid) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 1000, 10, 1);
  builder.kernel("k", 900, 10, 1);
  const ResultView view = view_analysis("launch", builder.trace);
  EXPECT_TRUE(view.notes("start before their own launch"));
  EXPECT_EQ(view.integer("launches", spread_row(view, "kernel", "signed delay"), "max_ns"), -110);
  EXPECT_EQ(view.integer("launches", spread_row(view, "kernel", "delay"), "max_ns"), 0);
}

TEST(Launch, TracesWithoutGpuWork) {
  TraceBuilder builder;
  EXPECT_TRUE(view_analysis("launch", builder.trace).notes("no events"));
  builder.runtime("cudaLaunchKernel", 0, 10, 1);
  const ResultView view = view_analysis("launch", builder.trace, option("each"));
  EXPECT_TRUE(view.notes("no kernel, copy or set"));
  EXPECT_TRUE(view.result.tables.empty());
  EXPECT_TRUE(view.result.headlines.empty());
}

}  // namespace
}  // namespace headroom::trace
