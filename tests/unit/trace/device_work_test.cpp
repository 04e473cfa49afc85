// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/device_work.h"
#include "analysis_run.h"
#include "headroom_trace/work/launches.h"
#include "headroom_trace/work/memory.h"

namespace headroom::trace {
namespace {

TEST(DeviceWork, DevicesAreApartAndInOrder) {
  TraceBuilder builder;
  builder.kernel("late", 50, 10, kNoCorrelation, 3);
  builder.kernel("a", 20, 10, kNoCorrelation, 0);
  builder.kernel("b", 25, 10, kNoCorrelation, 0, 8);
  builder.kernel("first", 0, 5, kNoCorrelation, 3);
  const DeviceWork work = device_work(builder.trace);
  EXPECT_EQ(work.devices, (std::vector<std::int32_t>{0, 3}));
  const auto devices = device_times(builder.trace, work, kernel_types(builder.trace));
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].device, 0);
  EXPECT_EQ(devices[0].busy(), (Spans{{20, 35}}));
  EXPECT_EQ(devices[1].busy(), (Spans{{0, 5}, {50, 60}}));
  EXPECT_EQ(devices[1].extent.length_ns(), 60);
  EXPECT_EQ(busy_times(builder.trace, work, {true, false, false, false}),
            (std::vector<Spans>{{}, {{50, 60}}}));
}

TEST(DeviceWork, TheBreakdownAddsUpToTheSpan) {
  TraceBuilder builder;
  builder.kernel("gemm", 0, 10);
  builder.kernel("ncclKernel", 5, 20, kNoCorrelation, 0, 20);  // 5..10 over the gemm, 10..25 exposed
  builder.copy(20, 20, kNoCorrelation, 0, 21);                 // 25..40 exposed
  builder.set(60, 5);
  builder.kernel("zero long, but the last", 100, 0);
  const auto devices = device_times(builder.trace, device_work(builder.trace), kernel_types(builder.trace));
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(std::tuple(devices[0].kernels, devices[0].copies, devices[0].sets), std::tuple(3U, 1U, 1U));
  const Breakdown times = breakdown(devices[0]);
  EXPECT_EQ(std::tuple(times.span_ns, times.busy_ns, times.compute_ns, times.exposed_communication_ns),
            std::tuple(100, 45, 10, 15));
  EXPECT_EQ(std::tuple(times.exposed_memory_ns, times.idle_ns, times.communication_ns, times.overlapped_ns),
            std::tuple(20, 55, 20, 5));
  EXPECT_THAT(times.combinations, ElementsAre(0, 5, 10, 5, 20, 0, 5, 0));
  EXPECT_DOUBLE_EQ(times.utilization(), 0.45);
}

TEST(DeviceWork, TotalsAddOverDevices) {
  TraceBuilder builder;
  builder.kernel("a", 0, 10);
  builder.kernel("b", 1000, 40, kNoCorrelation, 1);
  builder.kernel("c", 1080, 20, kNoCorrelation, 1);
  const Breakdown sum = breakdown(builder.trace);
  EXPECT_DOUBLE_EQ(utilization(builder.trace), 70.0 / 110);
  EXPECT_EQ(sum.span_ns, 110);  // 10 of device 0, 100 of device 1, not the time between
  EXPECT_EQ(std::tuple(sum.busy_ns, sum.idle_ns), std::tuple(70, 40));
}

TEST(DeviceWork, NoWorkIsNoDevice) {
  const TraceBuilder builder;
  EXPECT_TRUE(device_work(builder.trace).devices.empty());
  EXPECT_EQ(utilization(builder.trace), 0.0);
}

std::size_t spread_row(const AnalysisResult& result, const std::string& kind, const std::string& quantity) {
  for (std::size_t row = 0; row < row_count(result, "launches"); ++row) {
    if (text(result, "launches", row, "kind") == kind &&
        text(result, "launches", row, "quantity") == quantity)
      return row;
  }
  throw std::out_of_range(kind + " " + quantity);
}

using Launch = BuiltTrace;

TEST_F(Launch, DelayIsFromTheEndOfTheCallToTheStartOfTheWork) {
  builder.launch(1000, 100, "a", 1500, 300, 1);  // 400 after its call
  builder.launch(2000, 100, "b", 2060, 300, 2);  // during its call: 40 early
  builder.runtime("cudaMemcpyAsync", 3000, 10, 3);
  builder.copy(3010, 5, 3);
  builder.runtime("cudaMemsetAsync", 4000, 10, 4);
  builder.set(4110, 5, 4);
  const AnalysisResult result = run("launch", {{"each", ""}});
  expect_row(result, "each", 0, {{"delay_ns", 400}, {"signed_delay_ns", 400}});
  expect_row(result, "each", 1, {{"delay_ns", 0}, {"signed_delay_ns", -40}});
  EXPECT_EQ(integer(result, "each", 2, "delay_ns"), 0);
  expect_row(result, "each", 3, {{"kind", "memset"}, {"delay_ns", 100}});
  const std::size_t delay = spread_row(result, "kernel", "delay");
  expect_row(result, "launches", delay,
             {{"count", 2}, {"median_ns", 200.0}, {"p95_ns", 380.0}, {"p99_ns", 396.0}, {"max_ns", 400}});
  EXPECT_EQ(integer(result, "launches", spread_row(result, "kernel", "signed delay"), "total_ns"), 360);
  EXPECT_EQ(integer(result, "launches", spread_row(result, "kernel", "call"), "total_ns"), 200);
  EXPECT_EQ(integer(result, "launches", spread_row(result, "memcpy", "GPU work"), "total_ns"), 5);
  expect_headlines(result, {{"launch_delay_median_ns", 50}, {"launch_call_total_ns", 220}});
  EXPECT_EQ(row_count(result, "graphs"), 0U);
}

TEST_F(Launch, AnyRuntimeOrDriverCallWithWorkCountsWhateverItsName) {
  builder.runtime("hipExtModuleLaunchKernel", 0, 10, 1);
  builder.kernel("a", 100, 10, 1);
  const std::uint32_t host = builder.thread(TraceBuilder::kHostPid, "1");
  builder.event(Category::kDriver, "cuLaunchKernelEx", 200, 10, host, 2);
  builder.kernel("b", 300, 10, 2);
  builder.runtime("aBrandNewWayToLaunch", 400, 10, 3);
  builder.kernel("c", 500, 10, 3);
  builder.runtime("cudaStreamSynchronize", 600, 100, 4);  // no GPU work has its number
  builder.op("aten::add", 0, 1000);                       // not a call, whatever its number
  builder.trace.events.correlation.back() = 3;
  const AnalysisResult result = run("launch");
  ASSERT_EQ(row_count(result, "functions"), 3U);
  EXPECT_EQ(integer(result, "launches", spread_row(result, "kernel", "call"), "count"), 3);
}

TEST_F(Launch, GraphsAreApart) {
  builder.runtime("cudaGraphLaunch", 1000, 200, 1);
  builder.kernel("second", 1700, 100, 1);
  builder.kernel("first", 1500, 100, 1);
  builder.kernel("on another stream", 1550, 400, 1, 0, 8);
  builder.runtime("hipGraphLaunch", 3000, 10, 2);  // of a graph of one kernel
  builder.kernel("only", 3020, 10, 2);
  builder.launch(5000, 10, "plain", 5020, 5, 3);
  const AnalysisResult result = run("launch");
  ASSERT_EQ(row_count(result, "graphs"), 2U);
  EXPECT_EQ(integer(result, "graphs", 0, "works"), 3);
  EXPECT_EQ(integer(result, "graphs", 0, "delay_ns"),
            300);  // first by time, not in the file
  expect_row(result, "graphs", 0, {{"span_ns", 450}, {"gpu_ns", 600}});
  EXPECT_EQ(integer(result, "graphs", 1, "works"), 1);
  EXPECT_EQ(integer(result, "launches", spread_row(result, "kernel", "call"), "count"), 1);
  EXPECT_EQ(integer(result, "launches", spread_row(result, "graph", "GPU work"), "max_ns"), 600);
  EXPECT_DOUBLE_EQ(headline(result, "short_kernel_share"), 1);
  EXPECT_THAT(result.notes, Contains(HasSubstr("shorter than their launch call")));
}

TEST_F(Launch, ShortKernelsAndOutliers) {
  builder.op("aten::relu", 0, 1'000'000);
  builder.launch(1000, 10, "k", 2000, 9, 1);
  builder.launch(3000, 10, "k", 4000, 10, 2);  // not short: as long as its call
  builder.launch(5000, 60'000, "slow to launch", 300'000, 90'000, 3);
  const AnalysisResult result = run("launch");
  ASSERT_EQ(row_count(result, "short_kernels"), 1U);
  expect_row(result, "short_kernels", 0, {{"launches", 2}, {"short", 1}, {"gpu_ns", 19}, {"call_ns", 20}});
  EXPECT_DOUBLE_EQ(headline(result, "short_kernel_share"), 1.0 / 3);
  ASSERT_EQ(row_count(result, "outliers"), 1U);
  expect_row(result, "outliers", 0,
             {{"call_ns", 60'000}, {"op", "aten::relu"}, {"starts", "slow to launch"}});
  expect_row(result, "functions", 0, {{"outliers", 1}, {"delayed", 1}});
  EXPECT_FALSE(has_table(result, "each"));
}

TEST_F(Launch, CutoffsAreOptions) {
  builder.launch(0, 100, "k", 300, 10, 1);
  EXPECT_EQ(row_count(run("launch", {{"call-cutoff", "99ns"}}), "outliers"), 1U);
  EXPECT_EQ(row_count(run("launch", {{"call-cutoff", "100ns"}}), "outliers"), 0U);
  EXPECT_EQ(integer(run("launch", {{"delay-cutoff", "199ns"}}), "functions", 0, "delayed"), 1);
  EXPECT_THROW(run("launch", {{"delay-cutoff", "?"}}), Error);
}

TEST_F(Launch, WorkWithoutALaunchIsCounted) {
  builder.kernel("no correlation", 0, 10);
  builder.kernel("launch not recorded", 20, 10, 77);
  builder.copy(40, 10, 78);
  builder.launch(50, 5, "launched", 60, 10, 79);
  const AnalysisResult result = run("launch");
  expect_row(result, "coverage", 0, {{"works", 3}, {"without_launch", 2}});
  EXPECT_EQ(integer(result, "coverage", 1, "launched"), 0);
  EXPECT_THAT(result.notes, Contains(HasSubstr("3 of 4 GPU events have no recorded launch")));
}

TEST_F(Launch, WorkThatStartsBeforeItsLaunchIsSaid) {
  builder.launch(1000, 10, "k", 900, 10, 1);
  const AnalysisResult result = run("launch");
  EXPECT_THAT(result.notes, Contains(HasSubstr("start before their own launch")));
  EXPECT_EQ(integer(result, "launches", spread_row(result, "kernel", "signed delay"), "max_ns"), -110);
  EXPECT_EQ(integer(result, "launches", spread_row(result, "kernel", "delay"), "max_ns"), 0);
}

TEST_F(Launch, TracesWithoutGpuWork) {
  EXPECT_THAT(run("launch").notes, Contains(HasSubstr("no events")));
  builder.runtime("cudaLaunchKernel", 0, 10, 1);
  expect_no_gpu_work(run("launch", {{"each", ""}}));
}

TEST(TransferKinds, ByTheNamesOfSeveralProfilers) {
  const std::pair<const char*, const char*> expected[] = {{"Memcpy HtoD (Pageable -> Device)", "HtoD"},
                                                          {"Memcpy DtoH (Device -> Pinned)", "DtoH"},
                                                          {"Memcpy DtoD (Device -> Device)", "DtoD"},
                                                          {"Memcpy PtoP (Device -> Device)", "PtoP"},
                                                          {"Memcpy HtoH (Pageable -> Pageable)", "HtoH"},
                                                          {"Memset (Device)", "memset"},
                                                          {"MemcpyH2D", "HtoD"},
                                                          {"MEMORY_COPY_HOST_TO_DEVICE", "HtoD"},
                                                          {"MEMORY_COPY_DEVICE_TO_HOST", "DtoH"},
                                                          {"CopyDeviceToDevice", "DtoD"},
                                                          {"__amd_rocclr_copyBuffer", "DtoD"},
                                                          {"__amd_rocclr_fillBufferAligned", "memset"},
                                                          {"dma_in", "unknown"}};
  for (const auto& [name, kind] : expected) EXPECT_STREQ(to_string(transfer_kind(name)), kind) << name;
  EXPECT_EQ(transfer_memory("Memcpy HtoD (Pageable -> Device)"), "Pageable -> Device");
  EXPECT_EQ(transfer_memory("MemcpyH2D"), "");
  EXPECT_EQ(transfer_memory("odd )( name"), "");
}

GpuDetail& transfer(TraceBuilder& builder, const char* name, std::int64_t start, std::int64_t duration,
                    double bytes, double gb_s = -1, std::int32_t device = 0) {
  const Category category =
      std::string_view(name).starts_with("Memset") ? Category::kGpuMemset : Category::kGpuMemcpy;
  GpuDetail& detail = builder.gpu(category, name, start, duration, kNoCorrelation, device);
  detail.bytes = bytes;
  detail.bandwidth_gb_s = gb_s;
  return detail;
}

using Bandwidth = BuiltTrace;

TEST_F(Bandwidth, AddsUpWhileTransfersOverlap) {
  transfer(builder, "Memcpy HtoD (Pinned -> Device)", 0, 4000, 40'000, 10);
  transfer(builder, "Memcpy HtoD (Pinned -> Device)", 1000, 1000, 2500, 2.5);
  transfer(builder, "Memcpy HtoD (Pinned -> Device)", 4000, 1000, 5000, 5);
  transfer(builder, "Memcpy HtoD (Pinned -> Device)", 9000, 0, 8, 0.008);  // no duration: 1 us
  transfer(builder, "Memcpy DtoH (Device -> Pinned)", 0, 1000, 1000, 1);
  const std::vector<BandwidthSeries> series = bandwidth_series(transfers(builder.trace));
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].kind, TransferKind::kHtoD);
  std::vector<std::pair<std::int64_t, double>> steps;
  for (const BandwidthStep& step : series[0].steps) steps.emplace_back(step.at_ns, step.gb_s);
  using Step = std::pair<std::int64_t, double>;
  EXPECT_THAT(steps, ElementsAre(Step{0, 10}, Step{1000, 12.5}, Step{2000, 10}, Step{4000, 5}, Step{5000, 0},
                                 Step{9000, 0.008}, Step{10'000, 0}));
  const AnalysisResult result = run("memory", {{"series", ""}});
  expect_row(result, "bandwidth", 0,
             {{"active_ns", 6000}, {"mean_gb_s", (40'000 + 2500 + 5000 + 8) / 6000.0}, {"max_gb_s", 12.5}});
  EXPECT_EQ(row_count(result, "bandwidth_series"), 9U);
  EXPECT_EQ(integer(result, "bandwidth_series", 1, "active"), 2);
}

TEST_F(Bandwidth, NothingIsLeftOfManyRoundings) {
  for (int i = 0; i < 100; ++i)
    transfer(builder, "Memcpy DtoD (Device -> Device)", i * 10, 1000, 100, 0.1 * (i + 1));
  const std::vector<BandwidthSeries> series = bandwidth_series(transfers(builder.trace));
  EXPECT_EQ(series[0].steps.back().gb_s, 0);
  EXPECT_EQ(series[0].steps.back().active, 0);
}

TEST_F(Bandwidth, FromBytesWhereTheFileHasNoneAndUnknownWhereItHasNeither) {
  transfer(builder, "Memcpy DtoD (Device -> Device)", 0, 500, 1000);
  transfer(builder, "Memcpy DtoD (Device -> Device)", 1000, 500, -1);
  transfer(builder, "Memcpy DtoD (Device -> Device)", 2000, 0, 1000);
  const AnalysisResult result = run("memory");
  expect_row(result, "bandwidth", 0, {{"transfers", 3}, {"without_bandwidth", 2}, {"max_gb_s", 2.0}});
}

TEST(Transfers, SumsByDeviceKindAndMemory) {
  TraceBuilder builder;
  transfer(builder, "Memcpy HtoD (Pinned -> Device)", 0, 1000, 5000);
  transfer(builder, "Memcpy HtoD (Pinned -> Device)", 2000, 0, 8);
  transfer(builder, "Memcpy HtoD (Pageable -> Device)", 3000, 3000, 3000);
  transfer(builder, "Memset (Device)", 4000, 100, -1);
  transfer(builder, "Memcpy HtoD (Pinned -> Device)", 0, 1000, 5000, -1, 1);
  builder.kernel("__amd_rocclr_copyBuffer", 5000, 10);
  builder.kernel("gemm", 6000, 10);
  const AnalysisResult result = run_analysis("memory", builder.trace);
  ASSERT_EQ(row_count(result, "transfers"), 5U);
  EXPECT_EQ(text(result, "transfers", 0, "memory"), "Pageable -> Device");
  expect_row(result, "transfers", 1,
             {{"memory", "Pinned -> Device"},
              {"transfers", 2},
              {"bytes", 5008.0},
              {"time_ns", 1000},
              {"gb_s", 5.0},
              {"zero_duration", 1}});
  expect_row(result, "transfers", 2, {{"kind", "DtoD"}, {"bytes", Cell{}}});
  EXPECT_EQ(text(result, "transfers", 3, "kind"), "memset");
  EXPECT_EQ(text(result, "transfers", 4, "device"), "1");
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 copies from or to pageable memory take 58.7 %")));
  expect_headlines(result, {{"transfer_ns", 5110}, {"transfer_bytes", 13'008}});
}

void allocate(TraceBuilder& builder, std::int64_t at, std::int64_t bytes, std::int64_t address,
              std::int64_t total_allocated = -1, std::int64_t total_reserved = -1, std::int32_t type = 1,
              std::int32_t device = 0) {
  builder.trace.memory.push_back({at, type, device, bytes, address, total_allocated, total_reserved});
}

using Allocations = BuiltTrace;

TEST_F(Allocations, PeaksAreTheAllocatorsOwnTotals) {
  builder.device(0, "GPU").total_memory_bytes = 2000;
  allocate(builder, 10, 100, 0xa, 600, 1000);
  allocate(builder, 20, 300, 0xb, 900, 1000);
  allocate(builder, 30, -100, 0xa, 800, 1000);
  allocate(builder, 40, 50, 0xc, 850, 1900);
  allocate(builder, 25, 64, 0x1, 64, 0, 0, -1);
  const AnalysisResult result = run("memory");
  ASSERT_EQ(row_count(result, "allocators"), 2U);
  expect_row(result, "allocators", 0,
             {{"memory", "CPU"}, {"device", Cell{}}, {"peak_reserved_bytes", Cell{}}});
  expect_row(result, "allocators", 1,
             {{"memory", "CUDA"},
              {"allocations", 3},
              {"frees", 1},
              {"allocated_bytes", 450},
              {"left_bytes", 350},
              {"peak_allocated_bytes", 900},
              {"peak_allocated_at_ns", 20},
              {"peak_reserved_bytes", 1900},
              {"peak_reserved_at_ns", 40},
              {"unused_at_peak_bytes", 1050},
              {"peak_share", 0.95}});
  EXPECT_THAT(result.notes, Contains(HasSubstr("1.03 KiB of 1.86 KiB reserved")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("more than 90 %")));
  expect_headlines(result, {{"peak_allocated_bytes", 900}, {"peak_reserved_bytes", 1900}});
}

TEST_F(Allocations, LargestWithTheirLives) {
  allocate(builder, 10, 100, 0xa);
  allocate(builder, 20, 300, 0xb);
  allocate(builder, 30, -100, 0xa);
  allocate(builder, 40, 200, 0xa);  // reused address
  allocate(builder, 45, -7, 0xd);   // allocated before the trace
  allocate(builder, 70, -200, 0xa);
  const AnalysisResult result = run("memory");
  ASSERT_EQ(row_count(result, "allocations"), 3U);
  expect_row(result, "allocations", 0, {{"bytes", 300}, {"life_ns", Cell{}}});
  expect_row(result, "allocations", 1, {{"bytes", 200}, {"life_ns", 30}});
  EXPECT_EQ(integer(result, "allocations", 2, "life_ns"), 20);
  // Without totals, the running sum from the trace's start.
  expect_row(result, "allocators", 0, {{"peak_allocated_bytes", 500}, {"peak_allocated_at_ns", 40}});
  EXPECT_THAT(result.notes, Contains(HasSubstr("counts from the start of the trace")));
}

TEST_F(Allocations, WithoutAddressesLivesAreNotKnown) {
  allocate(builder, 10, 100, 0);
  allocate(builder, 20, -100, 0);
  EXPECT_TRUE(is_nothing(run("memory"), "allocations", 0, "life_ns"));
}

/// Reusing an address implies a lost free.
TEST_F(Allocations, WhatIsGivenOutAgainIsNoLeak) {
  allocate(builder, 10, 100, 0xa);
  builder.trace.memory.back().stack = builder.trace.names.intern("train.py(1): first");
  allocate(builder, 20, 60, 0xa);
  builder.trace.memory.back().stack = builder.trace.names.intern("train.py(2): second");
  const AnalysisResult result = run("memory");
  ASSERT_EQ(row_count(result, "leaks"), 1U);
  EXPECT_EQ(text(result, "leaks", 0, "line"), "train.py(2): second");
  EXPECT_EQ(integer(result, "allocations", 0, "life_ns"), 10);
}

/// The allocator's total has memory unknown to the file; stacks beyond --top are summed.
TEST_F(Allocations, StacksOfThePeakSumToIt) {
  for (int i = 0; i < 5; ++i) {
    allocate(builder, 10 * i, 100 - i, 16 + i, 1000 + 100 * (i + 1), 5000);
    builder.trace.memory.back().stack =
        builder.trace.names.intern("lib.py(9): empty;train.py(" + std::to_string(i) + "): f");
  }
  allocate(builder, 60, -100, 16, 1400, 5000);
  const AnalysisResult result = run("memory", {}, 2);
  ASSERT_EQ(row_count(result, "peak_stacks"), 4U);
  EXPECT_EQ(text(result, "peak_stacks", 0, "line"), "lib.py(9): empty");
  EXPECT_EQ(text(result, "peak_stacks", 2, "line"), "3 other stacks");
  EXPECT_EQ(text(result, "peak_stacks", 3, "line"), "allocated before the file begins");
  EXPECT_EQ(column_sum(result, "peak_stacks", "bytes"), 1500);
  ASSERT_EQ(row_count(result, "leaks"), 3U);
  EXPECT_EQ(integer(result, "leaks", 0, "bytes"), 99);
}

TEST(Memory, DeviceTypesOfTorch) {
  EXPECT_EQ(device_type_name(0), "CPU");
  EXPECT_EQ(device_type_name(1), "CUDA");
  EXPECT_EQ(device_type_name(19), "MTIA");
  EXPECT_EQ(device_type_name(77), "device type 77");
}

TEST(Memory, TracesWithoutAny) {
  TraceBuilder builder;
  builder.kernel("gemm", 0, 10);
  const AnalysisResult result = run_analysis("memory", builder.trace, {{"series", ""}});
  EXPECT_EQ(row_count(result, "transfers"), 0U);
  EXPECT_EQ(row_count(result, "allocators"), 0U);
  EXPECT_THAT(result.notes, Contains(HasSubstr("no copies or sets")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("profile_memory=True")));
  EXPECT_TRUE(result.headlines.empty());
}

}  // namespace
}  // namespace headroom::trace
