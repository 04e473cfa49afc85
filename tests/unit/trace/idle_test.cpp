// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "headroom/base/error.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/peers/hta_idle.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/idle_culprits.h"
#include "headroom_trace/work/launches.h"
#include "result_view.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<IdleGap> gaps_of(const Trace& trace) {
  const std::vector<GpuWork> work = work_by_stream(trace);
  return work.empty() ? std::vector<IdleGap>{} : idle_gaps(trace, work.front().rows);
}

std::vector<HtaIdleCause> causes_of(const Trace& trace, std::int64_t threshold_ns = kHtaThresholdNs) {
  std::vector<HtaIdleCause> causes;
  for (const IdleGap& gap : gaps_of(trace))
    causes.push_back(hta_idle_cause(trace, gap, launches(trace), threshold_ns));
  return causes;
}

TEST(IdleGaps, CauseIsTheHostWhereItsLaunchBeganAfterTheGap) {
  TraceBuilder builder;
  builder.kernel("first", 1000, 500);
  builder.runtime("cudaLaunchKernel", 1501, 10, 1);
  builder.kernel("late", 2000, 500, 1);
  builder.runtime("cudaLaunchKernel", 2500, 10, 2);
  builder.kernel("in time", 2600, 400, 2);
  builder.runtime("cudaLaunchKernel", 100, 10, 3);
  builder.kernel("long ago", 40'000, 100, 3);
  EXPECT_THAT(causes_of(builder.trace),
              ElementsAre(HtaIdleCause::kHostWait, HtaIdleCause::kKernelWait, HtaIdleCause::kOther));
}

TEST(IdleGaps, ThresholdItselfIsNoKernelWait) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100);
  builder.kernel("b", 199, 100);
  builder.kernel("c", 399, 100);
  EXPECT_THAT(causes_of(builder.trace, 100), ElementsAre(HtaIdleCause::kKernelWait, HtaIdleCause::kOther));
  EXPECT_THAT(causes_of(builder.trace, 0), ElementsAre(HtaIdleCause::kOther, HtaIdleCause::kOther));
}

TEST(IdleGaps, WorkInsideLongerWorkMakesNoGap) {
  TraceBuilder builder;
  builder.kernel("long", 0, 1000);
  builder.kernel("inside", 100, 100);
  builder.kernel("inside too", 500, 100);
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
  EXPECT_TRUE(view.notes("1 of 3 GPU events"));
}

TEST(Idle, ThresholdAndTopAreOptions) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) builder.kernel("k", i * 1000, 100 + i);
  AnalysisOptions options = option("threshold", "898ns");
  options.top = 2;
  const ResultView view = view_analysis("idle", builder.trace, options);
  EXPECT_EQ(view.integer("streams", 0, "kernel_wait_gaps"), 1);
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
  EXPECT_TRUE(view.notes("no GPU work"));
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

std::map<HostActivity, std::int64_t> times_of_culprits(const Trace& trace, const Span* window = nullptr) {
  std::map<HostActivity, std::int64_t> times;
  const IdleCulprits found =
      window == nullptr ? idle_culprits(trace, device_work(trace), launches(trace), host_order(trace))
                        : idle_culprits(trace, device_work(trace), launches(trace), host_order(trace),
                                        std::span(window, 1));
  for (const IdlePart& part : found.parts) times[part.doing] += part.length_ns();
  return times;
}

TraceBuilder with_gap() {
  TraceBuilder builder;
  builder.kernel("before", 0, 100);
  builder.runtime("cudaLaunchKernel", 980, 10, 7);
  builder.kernel("after", 1000, 100, 7);
  return builder;
}

TEST(IdleCulprits, TheTimesFillTheGap) {
  TraceBuilder builder = with_gap();
  builder.runtime("cudaDeviceSynchronize", 50, 100);
  builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 200, 300);
  builder.op("aten::stack", 250, 50);  // inside of it
  builder.runtime("cudaMalloc", 600, 100);
  builder.op("aten::randperm", 800, 100);
  const std::map<HostActivity, std::int64_t> expected{
      {HostActivity::kSynchronisation, 50}, {HostActivity::kDataLoading, 300},
      {HostActivity::kAllocation, 100},     {HostActivity::kOperator, 100},
      {HostActivity::kNotRecorded, 330},    {HostActivity::kLaunch, 20}};
  EXPECT_EQ(times_of_culprits(builder.trace), expected);
}

/// Searching from the start of the gap each time would be quadratic.
TEST(IdleCulprits, ALongGapOfManyPartsTakesNoTime) {
  constexpr std::int64_t kParts = 100'000;
  TraceBuilder builder;
  builder.kernel("before", 0, 10);
  builder.runtime("cudaLaunchKernel", 10 + 10 * kParts, 1, 7);
  builder.kernel("after", 12 + 10 * kParts, 10, 7);
  builder.runtime("cudaLaunchKernel", 30 + 10 * kParts, 1, 8, "2");
  builder.kernel("of the other", 32 + 10 * kParts, 10, 8);
  const std::uint32_t own = builder.thread(TraceBuilder::kHostPid, "1"),
                      other = builder.thread(TraceBuilder::kHostPid, "2");
  for (std::int64_t i = 0; i < kParts; ++i) {
    builder.event(Category::kCpuOp, "own", 10 + 10 * i, 4, own);
    builder.event(Category::kPython, "a.py(1): f", 10 + 10 * i + 2, 5, other);
  }
  const auto start = std::chrono::steady_clock::now();
  std::map<HostActivity, std::int64_t> times = times_of_culprits(builder.trace);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  EXPECT_EQ(times[HostActivity::kOperator], 4 * kParts);
  EXPECT_EQ(times[HostActivity::kProgram], 3 * kParts);
  EXPECT_GE(times[HostActivity::kNotRecorded], 3 * kParts);
}

TEST(IdleCulprits, WorkLaunchedInTimeIsNotTheHosts) {
  TraceBuilder builder = with_gap();
  builder.trace.events.start_ns[1] = 90;  // the launch
  EXPECT_EQ(times_of_culprits(builder.trace),
            (std::map<HostActivity, std::int64_t>{{HostActivity::kNotTheHost, 900}}));
}

TEST(IdleCulprits, TheLaunchIsACallUntilItReturnsThenTheDeviceIsLate) {
  TraceBuilder builder;
  builder.kernel("before", 0, 1'000);
  builder.runtime("cudaLaunchKernel", 500, 4'500, 7);  // from before the gap
  builder.kernel("after", 6'000, 1'000, 7);
  builder.runtime("cudaLaunchKernel", 8'000, 2'000, 8);
  builder.kernel("late", 511'000, 1'000, 8);
  builder.kernel("unknown", 600'000, 1'000);
  const std::map<HostActivity, std::int64_t> expected{
      {HostActivity::kLaunch, 5'000 + 2'000 + 1'000},  // a usual delay is 1,000
      {HostActivity::kDeviceLate, 500'000},
      {HostActivity::kNotRecorded, 1'000 + 88'000}};
  EXPECT_EQ(times_of_culprits(builder.trace), expected);
}

TEST(IdleCulprits, ADeviceIsNotLateWhereItsWorkIsNotInTheFile) {
  const auto late_of = [](bool has_before, const char* between) {
    TraceBuilder builder;
    if (has_before) builder.runtime("cudaLaunchKernel", 0, 1'000, 6);
    if (has_before) builder.kernel("before", 5'000, 1'000, 6);
    builder.runtime(between, 7'000, 1'000, 66);
    builder.runtime("cudaLaunchKernel", 8'000, 2'000, 7);
    builder.kernel("late", 511'000, 1'000, 7);
    const Span window{0, 600'000};
    std::map<HostActivity, std::int64_t> times = times_of_culprits(builder.trace, &window);
    const std::int64_t late = times[HostActivity::kDeviceLate], lost = times[HostActivity::kNotRecorded];
    EXPECT_TRUE(late == 0 ? lost > 490'000 : lost < 100'000) << late << " " << lost;
    return late;
  };
  EXPECT_EQ(late_of(true, "cudaStreamIsCapturing"), 511'000 - 16'000);
  EXPECT_EQ(late_of(true, "cudaGraphLaunch"), 0);
  EXPECT_EQ(late_of(false, "cudaStreamIsCapturing"), 0) << "busy with what came before the file";
}

TEST(IdleCulprits, WhereTheLaunchingThreadRestsAnotherThatLaunchesWorked) {
  TraceBuilder builder = with_gap();
  builder.runtime("cudaLaunchKernel", 2000, 10, 8, "2");
  builder.kernel("later", 2020, 10, 8);
  builder.op("backward", 300, 400, -1, "2");
  builder.op("worker", 300, 400, -1, "3");
  builder.op("own", 500, 100);
  std::map<HostActivity, std::int64_t> times = times_of_culprits(builder.trace);
  EXPECT_EQ(times[HostActivity::kOperator], 400);
}

TEST(IdleCulprits, OfAWindowTheBeginningAndTheEndCount) {
  TraceBuilder builder = with_gap();
  builder.op("early", -500, 400);
  const Span window{-500, 1300};
  std::map<HostActivity, std::int64_t> times = times_of_culprits(builder.trace, &window);
  std::int64_t sum = 0;
  for (const auto& [doing, time] : times) sum += time;
  EXPECT_EQ(sum, 1800 - 200);
}

TEST(IdleCulprits, WithoutLaunchesNothingIsKnownOfTheHost) {
  TraceBuilder builder = with_gap();
  builder.op("aten::mm", 90, 2'000);
  builder.trace.events.correlation.assign(builder.trace.events.size(), kNoCorrelation);
  const Span window{0, 3'000};
  EXPECT_EQ(times_of_culprits(builder.trace, &window),
            (std::map<HostActivity, std::int64_t>{{HostActivity::kNotRecorded, 900 + 1'900}}));
}

TEST(IdleCulprits, WhatOverlapsIsBesideNotInside) {
  TraceBuilder builder = with_gap();
  builder.op("aten::mm", 90, 20);
  const std::uint32_t item = builder.op("aten::item", 105, 400).event;
  const std::uint32_t sync = builder.runtime("cudaStreamSynchronize", 120, 100);
  const HostOrder order = host_order(builder.trace);
  EXPECT_EQ(site_of(builder.trace, order.parent, sync), item);
  EXPECT_EQ(times_of_culprits(builder.trace)[HostActivity::kSynchronisation], 100);
}

TEST(IdleCulprits, ACallThatEndsALittleAfterItsOperatorIsInIt) {
  TraceBuilder builder;
  const std::uint32_t op = builder.op("aten::mm", 0, 100).event;
  const std::uint32_t launch = builder.runtime("cudaLaunchKernel", 90, 12, 1);  // on another clock
  const std::uint32_t beyond = builder.runtime("cudaStreamSynchronize", 95, 500);
  const HostOrder order = host_order(builder.trace);
  EXPECT_EQ(site_of(builder.trace, order.parent, launch), op);
  EXPECT_EQ(site_of(builder.trace, order.parent, beyond), kNone);
}

TEST(IdleCulprits, CallsThatAllocate) {
  for (const char* name :
       {"cudaMalloc", "cudaFree", "cudaHostAlloc", "hipMalloc", "cuMemCreate", "cudaMallocHost"})
    EXPECT_TRUE(is_allocation_call(name)) << name;
  for (const char* name : {"cudaMallocAsync", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaFreeAsync"})
    EXPECT_FALSE(is_allocation_call(name)) << name;
}

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

TEST(Overlap, SharesOfCommunication) {
  TraceBuilder builder;
  builder.kernel("gemm", 0, 100);
  builder.kernel("gemm", 50, 100);  // overlaps the first: compute is 150 long
  builder.kernel(kAllReduce, 100, 100, kNoCorrelation, 0, 20);
  builder.kernel(kAllReduce, 300, 50, kNoCorrelation, 0, 20);
  builder.copy(330, 40);  // 20 of it after communication
  builder.set(140, 5);    // after both
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
  EXPECT_TRUE(view.notes("exposed communication"));
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
  builder.kernel(kAllReduce, 50, 0);  // zero duration
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
  EXPECT_TRUE(view.notes("no GPU work"));
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

void launch(TraceBuilder& builder, std::int64_t correlation, std::int64_t launched, std::int64_t started,
            std::int64_t stream = 7, std::int32_t device = 0) {
  builder.runtime("cudaLaunchKernel", launched, 10, correlation);
  builder.kernel("k", started, 10, correlation, device, stream);
}

TEST(QueueLength, RisesAtLaunchesAndFallsAtStarts) {
  TraceBuilder builder;
  launch(builder, 1, 0, 100);
  launch(builder, 2, 20, 200);
  launch(builder, 3, 40, 300);
  launch(builder, 4, 400, 450);
  const std::vector<StreamQueue> queues = queue_lengths(builder.trace, launches(builder.trace));
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_THAT(queues[0].steps,
              ElementsAre(QueueStep{0, 1}, QueueStep{20, 2}, QueueStep{40, 3}, QueueStep{100, 2},
                          QueueStep{200, 1}, QueueStep{300, 0}, QueueStep{400, 1}, QueueStep{450, 0}));
  const QueueSummary summary = summarize(queues[0].steps, 2);
  EXPECT_EQ(summary.span_ns, 450);
  EXPECT_EQ(summary.max_length, 3);
  EXPECT_DOUBLE_EQ(summary.length_ns, 20 * 1 + 20 * 2 + 60 * 3 + 100 * 2 + 100 * 1 + 0 + 50 * 1);
  EXPECT_EQ(summary.empty_ns, 100);
  EXPECT_EQ(summary.blocked_ns, 20 + 60 + 100);
}

TEST(QueueLength, WhatChangesAtOneInstantIsOneStep) {
  TraceBuilder builder;
  launch(builder, 1, 0, 100);
  launch(builder, 2, 100, 200);  // launched as the first starts: the queue length stays 1
  builder.runtime("cudaLaunchKernel", 300, 10, 3);
  builder.kernel("starts as it is launched", 300, 10, 3);
  const std::vector<StreamQueue> queues = queue_lengths(builder.trace, launches(builder.trace));
  EXPECT_THAT(queues[0].steps, ElementsAre(QueueStep{0, 1}, QueueStep{200, 0}));
}

TEST(QueueLength, EachKernelOfAGraphIsInTheQueue) {
  TraceBuilder builder;
  builder.runtime("cudaGraphLaunch", 0, 10, 1);
  for (int i = 0; i < 3; ++i) builder.kernel("k", 100 + 100 * i, 50, 1);
  const std::vector<StreamQueue> queues = queue_lengths(builder.trace, launches(builder.trace));
  EXPECT_THAT(queues[0].steps,
              ElementsAre(QueueStep{0, 3}, QueueStep{100, 2}, QueueStep{200, 1}, QueueStep{300, 0}));
}

TEST(QueueLength, WorkWithoutALaunchOrBeforeItIsNeverInTheQueue) {
  TraceBuilder builder;
  builder.kernel("not launched here", 50, 10);
  builder.runtime("cudaLaunchKernel", 200, 10, 1);
  builder.kernel("clocks differ", 150, 10, 1);
  const std::vector<StreamQueue> queues = queue_lengths(builder.trace, launches(builder.trace));
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_THAT(queues[0].steps, IsEmpty());
  EXPECT_EQ(queues[0].works, 1U);
  EXPECT_EQ(queues[0].without_launch, 1U);
}

TEST(Queue, StreamsAndDevicesApart) {
  TraceBuilder builder;
  launch(builder, 1, 0, 100, 7);
  launch(builder, 2, 0, 300, 8);
  launch(builder, 3, 100, 200, 8);
  launch(builder, 4, 0, 50, 7, 1);
  const ResultView view = view_analysis("queue", builder.trace);
  ASSERT_EQ(view.rows("streams"), 3U);
  EXPECT_EQ(view.integer("streams", 0, "max_length"), 1);
  EXPECT_DOUBLE_EQ(view.number("streams", 0, "mean_length"), 1);
  EXPECT_EQ(view.integer("streams", 1, "stream"), 8);
  EXPECT_EQ(view.integer("streams", 1, "max_length"), 2);
  EXPECT_DOUBLE_EQ(view.number("streams", 1, "mean_length"), (100.0 + 200 + 100) / 300);
  EXPECT_EQ(view.text("streams", 2, "device"), "1");
  EXPECT_DOUBLE_EQ(view.headline("queue_length_mean", "0"), (100.0 + 400) / 400);
  EXPECT_DOUBLE_EQ(view.headline("queue_length_max"), 2);
  EXPECT_DOUBLE_EQ(view.headline("queue_empty_share"), 0);
  EXPECT_FALSE(view.has("series"));
}

TEST(Queue, BlockedFromTheLimitOn) {
  TraceBuilder builder;
  builder.runtime("cudaGraphLaunch", 0, 10, 1);
  for (int i = 0; i < 1024; ++i) builder.kernel("k", 1000 + i, 1, 1);
  ResultView view = view_analysis("queue", builder.trace);
  EXPECT_EQ(view.integer("streams", 0, "blocked_ns"), 1000);
  EXPECT_DOUBLE_EQ(view.headline("queue_blocked_ns"), 1000);
  EXPECT_TRUE(view.notes("queues were full for"));
  view = view_analysis("queue", builder.trace, option("limit", "1025"));
  EXPECT_EQ(view.integer("streams", 0, "blocked_ns"), 0);
  EXPECT_FALSE(view.notes("queues were full"));
  EXPECT_THROW(view_analysis("queue", builder.trace, option("limit", "0")), Error);
  EXPECT_THROW(view_analysis("queue", builder.trace, option("limit", "many")), Error);
}

TEST(Queue, SeriesIsATable) {
  TraceBuilder builder;
  launch(builder, 1, 5, 100);
  builder.kernel("alone on its stream, no launch", 7, 5, kNoCorrelation, 0, 9);
  const ResultView view = view_analysis("queue", builder.trace, option("series"));
  ASSERT_EQ(view.rows("series"), 2U);
  EXPECT_EQ(view.integer("series", 0, "at_ns"), 5);
  EXPECT_EQ(view.integer("series", 1, "length"), 0);
  EXPECT_TRUE(view.is_nothing("streams", 1, "mean_length"));
  EXPECT_TRUE(view.notes("1 of 2 GPU events have no recorded launch"));
}

TEST(Queue, TracesWithoutGpuWork) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 10, 1);
  const ResultView view = view_analysis("queue", builder.trace, option("series"));
  EXPECT_TRUE(view.result.tables.empty());
  EXPECT_TRUE(view.notes("no GPU work"));
  EXPECT_TRUE(view.result.headlines.empty());
}

}  // namespace
}  // namespace headroom::trace
