// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "result_view.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

TEST(Overlap, SharesOfCommunication) {
  TraceBuilder builder;
  builder.kernel("gemm", 0, 100);
  builder.kernel("gemm", 50, 100);  // overlaps the first: compute is 150 long
  builder.kernel(kAllReduce, 100, 100, kNoCorrelation, 0, 20);
  builder.kernel(kAllReduce, 300, 50, kNoCorrelation, 0, 20);
  builder.copy(330, 40);  // 20 of it behind communication
  builder.set(140, 5);    // behind both
  const ResultView view = view_analysis("overlap", builder.trace);
  ASSERT_EQ(view.rows("devices"), 1U);
  EXPECT_EQ(view.integer("devices", 0, "span_ns"), 370);
  EXPECT_EQ(view.integer("devices", 0, "compute_ns"), 150);
  EXPECT_EQ(view.integer("devices", 0, "communication_ns"), 150);
  EXPECT_EQ(view.integer("devices", 0, "overlap_ns"), 50);
  EXPECT_DOUBLE_EQ(view.number("devices", 0, "overlap_share"), 1.0 / 3);
  EXPECT_EQ(view.integer("devices", 0, "exposed_communication_ns"), 100);
  EXPECT_EQ(view.integer("devices", 0, "memory_ns"), 45);
  EXPECT_EQ(view.integer("devices", 0, "exposed_memory_ns"), 20);
  EXPECT_DOUBLE_EQ(view.headline("overlap"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(view.headline("exposed_communication_share"), 100.0 / 370);
  EXPECT_TRUE(view.notes("communication that nothing hides"));
}

TEST(Overlap, EachCommunicationKernelByItself) {
  TraceBuilder builder;
  builder.kernel("gemm", 0, 1000);
  builder.kernel(kAllReduce, 100, 100, kNoCorrelation, 0, 20);
  builder.kernel(kAllReduce, 150, 100, kNoCorrelation, 0, 21);
  builder.kernel("ncclDevKernel_SendRecv", 900, 300, kNoCorrelation, 0, 20);
  const ResultView view = view_analysis("overlap", builder.trace);
  ASSERT_EQ(view.rows("kernels"), 2U);
  EXPECT_EQ(view.text("kernels", 0, "kernel"), "ncclDevKernel_SendRecv");
  EXPECT_EQ(view.integer("kernels", 0, "hidden_ns"), 100);
  EXPECT_EQ(view.integer("kernels", 0, "exposed_ns"), 200);
  EXPECT_EQ(view.integer("kernels", 1, "calls"), 2);
  EXPECT_EQ(view.integer("kernels", 1, "total_ns"), 200);
  EXPECT_EQ(view.integer("kernels", 1, "time_ns"), 150);
  EXPECT_DOUBLE_EQ(view.number("kernels", 1, "hidden_share"), 1);
}

TEST(Overlap, ComputationOfAnotherDeviceHidesNothing) {
  TraceBuilder builder;
  builder.kernel("gemm", 0, 100, kNoCorrelation, 0);
  builder.kernel(kAllReduce, 0, 100, kNoCorrelation, 1);
  const ResultView view = view_analysis("overlap", builder.trace);
  ASSERT_EQ(view.rows("devices"), 2U);
  EXPECT_TRUE(view.is_nothing("devices", 0, "overlap_share"));
  EXPECT_DOUBLE_EQ(view.number("devices", 1, "overlap_share"), 0);
  EXPECT_FALSE(view.has_headline("overlap", "0"));
  EXPECT_DOUBLE_EQ(view.headline("overlap", "1"), 0);
  EXPECT_DOUBLE_EQ(view.headline("overlap"), 0);
  EXPECT_DOUBLE_EQ(view.headline("exposed_communication_share"), 0.5);
}

TEST(Overlap, WithoutCommunicationThereIsNone) {
  TraceBuilder builder;
  builder.kernel("gemm", 0, 100);
  builder.kernel(kAllReduce, 50, 0);  // of no time
  const ResultView view = view_analysis("overlap", builder.trace);
  EXPECT_TRUE(view.is_nothing("devices", 0, "overlap_share"));
  EXPECT_FALSE(view.has_headline("overlap"));
  EXPECT_TRUE(view.notes("no communication"));
  EXPECT_TRUE(view.is_nothing("kernels", 0, "hidden_share"));
}

TEST(Overlap, TracesWithoutGpuWork) {
  TraceBuilder builder;
  builder.op("aten::add", 0, 10);
  const ResultView view = view_analysis("overlap", builder.trace);
  EXPECT_TRUE(view.result.tables.empty());
  EXPECT_TRUE(view.notes("no kernel, copy or set"));
  EXPECT_TRUE(view.result.headlines.empty());
}

TEST(Overlap, RanksAreComparedByTheirHeadlines) {
  TraceBuilder hidden, exposed;
  hidden.kernel("gemm", 0, 100);
  hidden.kernel(kAllReduce, 0, 50, kNoCorrelation, 0, 20);
  exposed.kernel("gemm", 0, 100);
  exposed.kernel(kAllReduce, 100, 50, kNoCorrelation, 0, 20);
  const std::vector<RankResult> ranks{{"a", 0, view_analysis("overlap", hidden.trace).result},
                                      {"b", 1, view_analysis("overlap", exposed.trace).result}};
  const ResultView view(combine_headlines(ranks));
  EXPECT_DOUBLE_EQ(view.number("ranks", 0, "overlap"), 1);
  EXPECT_DOUBLE_EQ(view.number("ranks", 1, "overlap"), 0);
}

}  // namespace
}  // namespace headroom::trace
