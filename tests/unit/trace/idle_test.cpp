// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/idle_gaps.h"

#include <gmock/gmock.h>

#include "headroom/base/error.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/work/gpu_work.h"
#include "result_view.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<IdleGap> gaps_of(const Trace& trace, std::int64_t threshold_ns = 30'000) {
  const std::vector<GpuWork> work = work_by_stream(trace);
  return work.empty() ? std::vector<IdleGap>{}
                      : idle_gaps(trace, work.front().rows, launches(trace), threshold_ns);
}

std::vector<IdleCause> causes_of(const Trace& trace, std::int64_t threshold_ns = 30'000) {
  std::vector<IdleCause> causes;
  for (const IdleGap& gap : gaps_of(trace, threshold_ns)) causes.push_back(gap.cause);
  return causes;
}

TEST(IdleGaps, CauseIsTheHostWhereItsLaunchBeganAfterTheGap) {
  TraceBuilder builder;
  builder.kernel("first", 1000, 500);
  builder.runtime("cudaLaunchKernel", 1501, 10, 1);
  builder.kernel("late", 2000, 500, 1);
  builder.runtime("cudaLaunchKernel", 2500, 10, 2);  // at the very end of the work before: not after it
  builder.kernel("in time", 2600, 400, 2);
  builder.runtime("cudaLaunchKernel", 100, 10, 3);
  builder.kernel("long ago", 40'000, 100, 3);
  EXPECT_THAT(causes_of(builder.trace),
              ElementsAre(IdleCause::kHostWait, IdleCause::kKernelWait, IdleCause::kOther));
}

TEST(IdleGaps, ThresholdItselfIsNoKernelWait) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100);
  builder.kernel("b", 199, 100);
  builder.kernel("c", 399, 100);
  EXPECT_THAT(causes_of(builder.trace, 100), ElementsAre(IdleCause::kKernelWait, IdleCause::kOther));
  EXPECT_THAT(causes_of(builder.trace, 0), ElementsAre(IdleCause::kOther, IdleCause::kOther));
}

TEST(IdleGaps, WorkInsideLongerWorkMakesNoGap) {
  TraceBuilder builder;
  builder.kernel("long", 0, 1000);
  builder.kernel("inside", 100, 100);
  builder.kernel("inside too", 500, 100);  // after the one before it, before the end of the long one
  builder.kernel("after", 1200, 100);
  const std::vector<IdleGap> gaps = gaps_of(builder.trace);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].start_ns, 1000);
  EXPECT_EQ(gaps[0].end_ns, 1200);
  EXPECT_EQ(gaps[0].before, 0U);
  EXPECT_EQ(gaps[0].next, 3U);
}

TEST(IdleGaps, WorkThatTouchesOrLastsNoTime) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100);
  builder.kernel("b", 100, 100);
  builder.kernel("no time", 250, 0);
  builder.kernel("c", 300, 100);
  builder.kernel("at one instant with c's end", 400, 0);
  const std::vector<IdleGap> gaps = gaps_of(builder.trace);
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].length_ns(), 50);
  EXPECT_EQ(gaps[1].length_ns(), 50);
  EXPECT_EQ(gaps[1].before, 2U);
}

TEST(IdleGaps, OrderOfTheFileDoesNotMatter) {
  TraceBuilder builder;
  builder.kernel("third", 500, 100);
  builder.kernel("first", 0, 100);
  builder.kernel("second", 200, 100);
  const std::vector<IdleGap> gaps = gaps_of(builder.trace);
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].next, 2U);
  EXPECT_EQ(gaps[1].next, 0U);
}

TEST(IdleGaps, NoneBeforeTheFirstOrAfterTheLast) {
  TraceBuilder builder;
  EXPECT_THAT(gaps_of(builder.trace), IsEmpty());
  builder.kernel("only", 1000, 10);
  EXPECT_THAT(gaps_of(builder.trace), IsEmpty());
}

TEST(Idle, StreamsAndDevicesApart) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100'000);
  builder.kernel("b", 200'000, 100'000);
  builder.kernel("on another stream", 90'000, 60'000, kNoCorrelation, 0, 8);
  builder.kernel("on another device", 0, 10'000, kNoCorrelation, 1, 7);
  builder.kernel("there too", 30'000, 10'000, kNoCorrelation, 1, 7);
  const ResultView view = view_analysis("idle", builder.trace);
  ASSERT_EQ(view.rows("streams"), 3U);
  EXPECT_EQ(view.integer("streams", 0, "idle_ns"), 100'000);
  EXPECT_EQ(view.integer("streams", 0, "span_ns"), 300'000);
  EXPECT_EQ(view.integer("streams", 1, "stream"), 8);
  EXPECT_EQ(view.integer("streams", 1, "idle_ns"), 0);
  EXPECT_EQ(view.text("streams", 2, "device"), "1");
  EXPECT_EQ(view.integer("streams", 2, "kernel_wait_ns"), 20'000);
  ASSERT_EQ(view.rows("devices"), 2U);
  EXPECT_EQ(view.integer("devices", 0, "idle_ns"), 50'000);
  EXPECT_EQ(view.integer("devices", 0, "busy_ns"), 250'000);
  EXPECT_EQ(view.integer("devices", 0, "other_gaps"), 1);
  EXPECT_DOUBLE_EQ(view.headline("idle_share", "0"), 50.0 / 300);
  EXPECT_DOUBLE_EQ(view.headline("idle_share", "1"), 0.5);
  EXPECT_DOUBLE_EQ(view.headline("idle_share"), 70.0 / 340);
  EXPECT_DOUBLE_EQ(view.headline("kernel_wait_share"), 20.0 / 340);
  EXPECT_DOUBLE_EQ(view.headline("other_wait_share"), 50.0 / 340);
}

TEST(Idle, LongestGapsSayWhichOpEndedThem) {
  TraceBuilder builder;
  builder.kernel("first", 0, 100);
  builder.op("aten::item", 500, 3000);
  builder.runtime("cudaMemcpyAsync", 1000, 50, 1);
  builder.copy(2000, 100, 1);
  builder.op("aten::mm", 5000, 3000);
  builder.runtime("cudaLaunchKernel", 6000, 50, 2);
  builder.kernel("gemm", 7000, 100, 2);
  const ResultView view = view_analysis("idle", builder.trace);
  ASSERT_EQ(view.rows("device_gaps"), 2U);
  EXPECT_EQ(view.integer("device_gaps", 0, "idle_ns"), 4900);
  EXPECT_EQ(view.integer("device_gaps", 0, "launched_after_ns"), 3900);
  EXPECT_EQ(view.text("device_gaps", 0, "op"), "aten::mm");
  EXPECT_EQ(view.text("device_gaps", 0, "next"), "gemm");
  EXPECT_EQ(view.text("device_gaps", 0, "before"), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(view.text("device_gaps", 1, "op"), "aten::item");
  EXPECT_EQ(view.text("ops", 0, "op"), "aten::mm");
  EXPECT_EQ(view.integer("ops", 0, "host_wait_ns"), 4900);
  EXPECT_EQ(view.integer("ops", 1, "idle_ns"), 1900);
  EXPECT_EQ(view.text("causes", 0, "cause"), "host wait");
  EXPECT_EQ(view.integer("causes", 0, "gaps"), 2);
  EXPECT_EQ(view.integer("causes", 0, "time_ns"), 6800);
  EXPECT_DOUBLE_EQ(view.number("causes", 0, "median_ns"), 3400);
  EXPECT_TRUE(view.is_nothing("causes", 1, "median_ns"));
  EXPECT_TRUE(view.notes("host wait"));
  EXPECT_TRUE(view.notes("1 of 3 pieces of GPU work"));
}

TEST(Idle, ThresholdAndTopAreOptions) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) builder.kernel("k", i * 1000, 100 + i);
  AnalysisOptions options = option("threshold", "898ns");
  options.top = 2;
  const ResultView view = view_analysis("idle", builder.trace, options);
  EXPECT_EQ(view.integer("streams", 0, "kernel_wait_gaps"), 1);  // 897 ns; the others last 898 and more
  EXPECT_EQ(view.integer("streams", 0, "other_gaps"), 3);
  EXPECT_EQ(view.rows("stream_gaps"), 2U);
  EXPECT_EQ(view.integer("stream_gaps", 0, "idle_ns"), 900);
  EXPECT_THROW(view_analysis("idle", builder.trace, option("threshold", "long")), Error);
}

TEST(Idle, TracesWithoutGpuWork) {
  TraceBuilder builder;
  EXPECT_TRUE(view_analysis("idle", builder.trace).notes("no events"));
  builder.op("aten::add", 0, 100);
  const ResultView view = view_analysis("idle", builder.trace);
  EXPECT_TRUE(view.notes("no kernel, copy or set"));
  EXPECT_TRUE(view.result.tables.empty());
  EXPECT_TRUE(view.result.headlines.empty());
}

TEST(IdleAnalysis, TheTreeOfCulpritsHasAllOfTheIdleTime) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100);
  builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 150, 300);
  builder.op("aten::mm", 500, 120);
  builder.runtime("cudaLaunchKernel", 600, 10, 2);
  builder.kernel("b", 620, 100, 2);
  const ResultView idle = view_analysis("idle", builder.trace);
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < idle.rows("culprits"); ++row) {
    if (idle.integer("culprits", row, "depth") == 0) sum += idle.integer("culprits", row, "idle_ns");
  }
  EXPECT_EQ(sum, idle.integer("devices", 0, "idle_ns"));
  EXPECT_EQ(idle.text("culprits", 0, "what"), "data loading");
  EXPECT_EQ(idle.integer("culprits", 0, "idle_ns"), 300);
  EXPECT_EQ(idle.text("culprits", 1, "what"),
            "  enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
}

}  // namespace
}  // namespace headroom::trace
