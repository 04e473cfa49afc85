// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "analysis_run.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/peers/hta_idle.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/idle_culprits.h"
#include "headroom_trace/work/launches.h"

namespace headroom::trace {
namespace {

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

using IdleGaps = BuiltTrace;

TEST_F(IdleGaps, CauseIsTheHostWhereItsLaunchBeganAfterTheGap) {
  builder.kernel("first", 1000, 500);
  builder.launch(1501, 10, "late", 2000, 500, 1);
  builder.launch(2500, 10, "in time", 2600, 400, 2);
  builder.launch(100, 10, "long ago", 40'000, 100, 3);
  EXPECT_THAT(causes_of(builder.trace),
              ElementsAre(HtaIdleCause::kHostWait, HtaIdleCause::kKernelWait, HtaIdleCause::kOther));
}

TEST_F(IdleGaps, ThresholdItselfIsNoKernelWait) {
  builder.kernel("a", 0, 100);
  builder.kernel("b", 199, 100);
  builder.kernel("c", 399, 100);
  EXPECT_THAT(causes_of(builder.trace, 100), ElementsAre(HtaIdleCause::kKernelWait, HtaIdleCause::kOther));
  EXPECT_THAT(causes_of(builder.trace, 0), ElementsAre(HtaIdleCause::kOther, HtaIdleCause::kOther));
}

TEST_F(IdleGaps, WorkInsideLongerWorkMakesNoGap) {
  builder.kernel("long", 0, 1000);
  builder.kernel("inside", 100, 100);
  builder.kernel("inside too", 500, 100);
  builder.kernel("after", 1200, 100);
  const std::vector<IdleGap> gaps = gaps_of(builder.trace);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(std::tuple(gaps[0].start_ns, gaps[0].end_ns, gaps[0].before, gaps[0].next),
            std::tuple(1000, 1200, 0U, 3U));
}

TEST_F(IdleGaps, WorkThatTouchesOrLastsNoTime) {
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

TEST_F(IdleGaps, OrderOfTheFileDoesNotMatter) {
  builder.kernel("third", 500, 100);
  builder.kernel("first", 0, 100);
  builder.kernel("second", 200, 100);
  const std::vector<IdleGap> gaps = gaps_of(builder.trace);
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].next, 2U);
  EXPECT_EQ(gaps[1].next, 0U);
}

TEST_F(IdleGaps, NoneBeforeTheFirstOrAfterTheLast) {
  EXPECT_THAT(gaps_of(builder.trace), IsEmpty());
  builder.kernel("only", 1000, 10);
  EXPECT_THAT(gaps_of(builder.trace), IsEmpty());
}

using Idle = BuiltTrace;

TEST_F(Idle, StreamsAndDevicesApart) {
  builder.kernel("a", 0, 100'000);
  builder.kernel("b", 200'000, 100'000);
  builder.kernel("on another stream", 90'000, 60'000, kNoCorrelation, 0, 8);
  builder.kernel("on another device", 0, 10'000, kNoCorrelation, 1, 7);
  builder.kernel("there too", 30'000, 10'000, kNoCorrelation, 1, 7);
  const AnalysisResult result = run("idle");
  ASSERT_EQ(row_count(result, "streams"), 3U);
  expect_row(result, "streams", 0, {{"idle_ns", 100'000}, {"span_ns", 300'000}});
  expect_row(result, "streams", 1, {{"stream", 8}, {"idle_ns", 0}});
  expect_row(result, "streams", 2, {{"device", "1"}, {"kernel_wait_ns", 20'000}});
  ASSERT_EQ(row_count(result, "devices"), 2U);
  expect_row(result, "devices", 0, {{"idle_ns", 50'000}, {"busy_ns", 250'000}, {"other_gaps", 1}});
  expect_headlines(result, {{"idle_share", 50.0 / 300, "0"},
                            {"idle_share", 0.5, "1"},
                            {"idle_share", 70.0 / 340},
                            {"kernel_wait_share", 20.0 / 340},
                            {"other_wait_share", 50.0 / 340}});
}

TEST_F(Idle, LongestGapsSayWhichOpEndedThem) {
  builder.kernel("first", 0, 100);
  builder.op("aten::item", 500, 3000);
  builder.runtime("cudaMemcpyAsync", 1000, 50, 1);
  builder.copy(2000, 100, 1);
  builder.op("aten::mm", 5000, 3000);
  builder.launch(6000, 50, "gemm", 7000, 100, 2);
  const AnalysisResult result = run("idle");
  ASSERT_EQ(row_count(result, "device_gaps"), 2U);
  expect_row(result, "device_gaps", 0,
             {{"idle_ns", 4900},
              {"launched_after_ns", 3900},
              {"op", "aten::mm"},
              {"next", "gemm"},
              {"before", "Memcpy HtoD (Pinned -> Device)"}});
  EXPECT_EQ(text(result, "device_gaps", 1, "op"), "aten::item");
  expect_row(result, "ops", 0, {{"op", "aten::mm"}, {"host_wait_ns", 4900}});
  EXPECT_EQ(integer(result, "ops", 1, "idle_ns"), 1900);
  expect_row(result, "causes", 0,
             {{"cause", "host wait"}, {"gaps", 2}, {"time_ns", 6800}, {"median_ns", 3400.0}});
  EXPECT_TRUE(is_nothing(result, "causes", 1, "median_ns"));
  EXPECT_THAT(result.notes, Contains(HasSubstr("host wait")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 of 3 GPU events")));
}

TEST_F(Idle, ThresholdAndTopAreOptions) {
  for (int i = 0; i < 5; ++i) builder.kernel("k", i * 1000, 100 + i);
  const AnalysisResult result = run("idle", {{"threshold", "898ns"}}, 2);
  expect_row(result, "streams", 0, {{"kernel_wait_gaps", 1}, {"other_gaps", 3}});
  EXPECT_EQ(row_count(result, "stream_gaps"), 2U);
  EXPECT_EQ(integer(result, "stream_gaps", 0, "idle_ns"), 900);
  EXPECT_THROW(run("idle", {{"threshold", "long"}}), Error);
}

TEST_F(Idle, TracesWithoutGpuWork) {
  EXPECT_THAT(run("idle").notes, Contains(HasSubstr("no events")));
  builder.op("aten::add", 0, 100);
  expect_no_gpu_work(run("idle"));
}

TEST(IdleAnalysis, TheTreeOfCulpritsHasAllOfTheIdleTime) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100);
  builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 150, 300);
  builder.op("aten::mm", 500, 120);
  builder.launch(600, 10, "b", 620, 100, 2);
  const AnalysisResult idle = run_analysis("idle", builder.trace);
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < row_count(idle, "culprits"); ++row) {
    if (integer(idle, "culprits", row, "depth") == 0) sum += integer(idle, "culprits", row, "idle_ns");
  }
  EXPECT_EQ(sum, integer(idle, "devices", 0, "idle_ns"));
  expect_row(idle, "culprits", 0, {{"what", "data loading"}, {"idle_ns", 300}});
  EXPECT_EQ(text(idle, "culprits", 1, "what"),
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
  builder.launch(980, 10, "after", 1000, 100, 7);
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

/// A search from the gap's start is quadratic.
TEST(IdleCulprits, ALongGapOfManyPartsTakesNoTime) {
  constexpr std::int64_t kParts = 100'000;
  TraceBuilder builder;
  builder.kernel("before", 0, 10);
  builder.launch(10 + 10 * kParts, 1, "after", 12 + 10 * kParts, 10, 7);
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
  builder.launch(500, 4'500, "after", 6'000, 1'000, 7);  // from before the gap
  builder.launch(8'000, 2'000, "late", 511'000, 1'000, 8);
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
    builder.launch(8'000, 2'000, "late", 511'000, 1'000, 7);
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

using Overlap = BuiltTrace;

TEST_F(Overlap, SharesOfCommunication) {
  builder.kernel("gemm", 0, 100);
  builder.kernel("gemm", 50, 100);  // overlaps the first: compute is 150 long
  builder.kernel(kAllReduce, 100, 100, kNoCorrelation, 0, 20);
  builder.kernel(kAllReduce, 300, 50, kNoCorrelation, 0, 20);
  builder.copy(330, 40);  // 20 of it after communication
  builder.set(140, 5);    // after both
  const AnalysisResult result = run("overlap");
  ASSERT_EQ(row_count(result, "devices"), 1U);
  expect_row(result, "devices", 0,
             {{"span_ns", 370},
              {"compute_ns", 150},
              {"communication_ns", 150},
              {"overlap_ns", 50},
              {"overlap_share", 1.0 / 3},
              {"exposed_communication_ns", 100},
              {"memory_ns", 45},
              {"exposed_memory_ns", 20}});
  expect_headlines(result, {{"overlap", 1.0 / 3}, {"exposed_communication_share", 100.0 / 370}});
  EXPECT_THAT(result.notes, Contains(HasSubstr("exposed communication")));
}

TEST_F(Overlap, EachCommunicationKernelByItself) {
  builder.kernel("gemm", 0, 1000);
  builder.kernel(kAllReduce, 100, 100, kNoCorrelation, 0, 20);
  builder.kernel(kAllReduce, 150, 100, kNoCorrelation, 0, 21);
  builder.kernel("ncclDevKernel_SendRecv", 900, 300, kNoCorrelation, 0, 20);
  const AnalysisResult result = run("overlap");
  ASSERT_EQ(row_count(result, "kernels"), 2U);
  expect_row(result, "kernels", 0,
             {{"kernel", "ncclDevKernel_SendRecv"}, {"hidden_ns", 100}, {"exposed_ns", 200}});
  expect_row(result, "kernels", 1,
             {{"calls", 2}, {"total_ns", 200}, {"time_ns", 150}, {"hidden_share", 1.0}});
}

TEST_F(Overlap, ComputationOfAnotherDeviceHidesNothing) {
  builder.kernel("gemm", 0, 100, kNoCorrelation, 0);
  builder.kernel(kAllReduce, 0, 100, kNoCorrelation, 1);
  const AnalysisResult result = run("overlap");
  ASSERT_EQ(row_count(result, "devices"), 2U);
  EXPECT_TRUE(is_nothing(result, "devices", 0, "overlap_share"));
  EXPECT_DOUBLE_EQ(number(result, "devices", 1, "overlap_share"), 0);
  EXPECT_EQ(find_headline(result, "overlap", "0"), nullptr);
  expect_headlines(result, {{"overlap", 0, "1"}, {"overlap", 0}, {"exposed_communication_share", 0.5}});
}

TEST_F(Overlap, WithoutCommunicationThereIsNone) {
  builder.kernel("gemm", 0, 100);
  builder.kernel(kAllReduce, 50, 0);  // zero duration
  const AnalysisResult result = run("overlap");
  EXPECT_TRUE(is_nothing(result, "devices", 0, "overlap_share"));
  EXPECT_EQ(find_headline(result, "overlap"), nullptr);
  EXPECT_THAT(result.answer, Contains(HasSubstr("no communication")));
  EXPECT_TRUE(is_nothing(result, "kernels", 0, "hidden_share"));
}

TEST_F(Overlap, TracesWithoutGpuWork) {
  builder.op("aten::add", 0, 10);
  expect_no_gpu_work(run("overlap"));
}

TEST_F(Overlap, RanksAreComparedByTheirHeadlines) {
  TraceBuilder hidden, exposed;
  hidden.kernel("gemm", 0, 100);
  hidden.kernel(kAllReduce, 0, 50, kNoCorrelation, 0, 20);
  exposed.kernel("gemm", 0, 100);
  exposed.kernel(kAllReduce, 100, 50, kNoCorrelation, 0, 20);
  const AnalysisResult result = combine_headlines(rank_results("overlap", {&hidden, &exposed}));
  EXPECT_DOUBLE_EQ(number(result, "ranks", 0, "overlap"), 1);
  EXPECT_DOUBLE_EQ(number(result, "ranks", 1, "overlap"), 0);
}

void launch(TraceBuilder& builder, std::int64_t correlation, std::int64_t launched, std::int64_t started,
            std::int64_t stream = 7, std::int32_t device = 0) {
  builder.launch(launched, 10, "k", started, 10, correlation, device, stream);
}

using QueueLength = BuiltTrace;

TEST_F(QueueLength, RisesAtLaunchesAndFallsAtStarts) {
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
  EXPECT_EQ(std::tuple(summary.span_ns, summary.max_length), std::tuple(450, 3));
  EXPECT_DOUBLE_EQ(summary.length_ns, 20 * 1 + 20 * 2 + 60 * 3 + 100 * 2 + 100 * 1 + 0 + 50 * 1);
  EXPECT_EQ(std::tuple(summary.empty_ns, summary.blocked_ns), std::tuple(100, 20 + 60 + 100));
}

TEST_F(QueueLength, WhatChangesAtOneInstantIsOneStep) {
  launch(builder, 1, 0, 100);
  launch(builder, 2, 100, 200);  // as the first starts: the queue length stays 1
  builder.launch(300, 10, "starts as it is launched", 300, 10, 3);
  const std::vector<StreamQueue> queues = queue_lengths(builder.trace, launches(builder.trace));
  EXPECT_THAT(queues[0].steps, ElementsAre(QueueStep{0, 1}, QueueStep{200, 0}));
}

TEST_F(QueueLength, EachKernelOfAGraphIsInTheQueue) {
  builder.runtime("cudaGraphLaunch", 0, 10, 1);
  for (int i = 0; i < 3; ++i) builder.kernel("k", 100 + 100 * i, 50, 1);
  const std::vector<StreamQueue> queues = queue_lengths(builder.trace, launches(builder.trace));
  EXPECT_THAT(queues[0].steps,
              ElementsAre(QueueStep{0, 3}, QueueStep{100, 2}, QueueStep{200, 1}, QueueStep{300, 0}));
}

TEST_F(QueueLength, WorkWithoutALaunchOrBeforeItIsNeverInTheQueue) {
  builder.kernel("not launched here", 50, 10);
  builder.launch(200, 10, "clocks differ", 150, 10, 1);
  const std::vector<StreamQueue> queues = queue_lengths(builder.trace, launches(builder.trace));
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_THAT(queues[0].steps, IsEmpty());
  EXPECT_EQ(std::tuple(queues[0].works, queues[0].without_launch), std::tuple(1U, 1U));
}

using Queue = BuiltTrace;

TEST_F(Queue, StreamsAndDevicesApart) {
  launch(builder, 1, 0, 100, 7);
  launch(builder, 2, 0, 300, 8);
  launch(builder, 3, 100, 200, 8);
  launch(builder, 4, 0, 50, 7, 1);
  const AnalysisResult result = run("queue");
  ASSERT_EQ(row_count(result, "streams"), 3U);
  expect_row(result, "streams", 0, {{"max_length", 1}, {"mean_length", 1.0}});
  expect_row(result, "streams", 1,
             {{"stream", 8}, {"max_length", 2}, {"mean_length", (100.0 + 200 + 100) / 300}});
  EXPECT_EQ(text(result, "streams", 2, "device"), "1");
  expect_headlines(
      result,
      {{"queue_length_mean", (100.0 + 400) / 400, "0"}, {"queue_length_max", 2}, {"queue_empty_share", 0}});
  EXPECT_FALSE(has_table(result, "series"));
}

TEST_F(Queue, BlockedFromTheLimitOn) {
  builder.runtime("cudaGraphLaunch", 0, 10, 1);
  for (int i = 0; i < 1024; ++i) builder.kernel("k", 1000 + i, 1, 1);
  AnalysisResult result = run("queue");
  EXPECT_EQ(integer(result, "streams", 0, "blocked_ns"), 1000);
  EXPECT_DOUBLE_EQ(headline(result, "queue_blocked_ns"), 1000);
  EXPECT_THAT(result.notes, Contains(HasSubstr("queues were full for")));
  result = run("queue", {{"limit", "1025"}});
  EXPECT_EQ(integer(result, "streams", 0, "blocked_ns"), 0);
  EXPECT_THAT(result.notes, Not(Contains(HasSubstr("queues were full"))));
  EXPECT_THROW(run("queue", {{"limit", "0"}}), Error);
  EXPECT_THROW(run("queue", {{"limit", "many"}}), Error);
}

TEST_F(Queue, SeriesIsATable) {
  launch(builder, 1, 5, 100);
  builder.kernel("alone on its stream, no launch", 7, 5, kNoCorrelation, 0, 9);
  const AnalysisResult result = run("queue", {{"series", ""}});
  ASSERT_EQ(row_count(result, "series"), 2U);
  EXPECT_EQ(integer(result, "series", 0, "at_ns"), 5);
  EXPECT_EQ(integer(result, "series", 1, "length"), 0);
  EXPECT_TRUE(is_nothing(result, "streams", 1, "mean_length"));
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 of 2 GPU events have no recorded launch")));
}

TEST_F(Queue, TracesWithoutGpuWork) {
  builder.runtime("cudaLaunchKernel", 0, 10, 1);
  expect_no_gpu_work(run("queue", {{"series", ""}}));
}

}  // namespace
}  // namespace headroom::trace
