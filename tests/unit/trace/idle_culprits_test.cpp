// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/idle_culprits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "trace_builder.h"

namespace headroom::trace {
namespace {

std::map<HostDoing, std::int64_t> times_of_culprits(const Trace& trace, const Span* window = nullptr) {
  std::map<HostDoing, std::int64_t> times;
  const IdleCulprits found =
      idle_culprits(trace, device_work(trace), launches(trace), host_order(trace), window);
  for (const IdlePart& part : found.parts) times[part.doing] += part.length_ns();
  return times;
}

/// A gap from 100 to 1,000 that ends with a launch at 980 by thread 1.
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
  const std::map<HostDoing, std::int64_t> expected{
      {HostDoing::kSynchronisation, 50}, {HostDoing::kDataLoading, 300}, {HostDoing::kAllocation, 100},
      {HostDoing::kOperator, 100},       {HostDoing::kNotRecorded, 330}, {HostDoing::kLaunch, 20}};
  EXPECT_EQ(times_of_culprits(builder.trace), expected);
}

/// One gap with many parts of the launching thread, and as many of another in the holes between: what each
/// hole is filled with must not be looked for from the start of the gap.
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
  std::map<HostDoing, std::int64_t> times = times_of_culprits(builder.trace);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  EXPECT_EQ(times[HostDoing::kOperator], 4 * kParts);
  EXPECT_EQ(times[HostDoing::kProgram], 3 * kParts);
  EXPECT_GE(times[HostDoing::kNotRecorded], 3 * kParts);
}

TEST(IdleCulprits, WorkLaunchedInTimeIsNotTheHosts) {
  TraceBuilder builder = with_gap();
  builder.trace.events.start_ns[1] = 90;  // the launch
  EXPECT_EQ(times_of_culprits(builder.trace),
            (std::map<HostDoing, std::int64_t>{{HostDoing::kNotTheHost, 900}}));
}

TEST(IdleCulprits, WhereTheLaunchingThreadRestsAnotherThatLaunchesWorked) {
  TraceBuilder builder = with_gap();
  builder.runtime("cudaLaunchKernel", 2000, 10, 8, "2");
  builder.kernel("later", 2020, 10, 8);
  builder.op("backward", 300, 400, -1, "2");
  builder.op("worker", 300, 400, -1, "3");  // launches nothing: nobody waits for it
  builder.op("own", 500, 100);
  std::map<HostDoing, std::int64_t> times = times_of_culprits(builder.trace);
  // 300 to 700 of thread 2 with 500 to 600 of the launching thread in it; the second gap is thread 2's.
  EXPECT_EQ(times[HostDoing::kOperator], 400);
}

TEST(IdleCulprits, OfAWindowTheBeginningAndTheEndCount) {
  TraceBuilder builder = with_gap();
  builder.op("early", -500, 400);
  const Span window{-500, 1300};
  std::map<HostDoing, std::int64_t> times = times_of_culprits(builder.trace, &window);
  std::int64_t sum = 0;
  for (const auto& [doing, time] : times) sum += time;
  EXPECT_EQ(sum, 1800 - 200);
}

TEST(IdleCulprits, WhatOverlapsIsBesideNotInside) {
  TraceBuilder builder = with_gap();
  builder.op("aten::mm", 90, 20);
  const std::uint32_t item = builder.op("aten::item", 105, 400).event;
  const std::uint32_t sync = builder.runtime("cudaStreamSynchronize", 120, 100);
  const HostOrder order = host_order(builder.trace);
  EXPECT_EQ(site_of(builder.trace, order.parent, sync), item);
  EXPECT_EQ(times_of_culprits(builder.trace)[HostDoing::kSynchronisation], 100);
}

TEST(IdleCulprits, CallsThatAllocate) {
  for (const char* name :
       {"cudaMalloc", "cudaFree", "cudaHostAlloc", "hipMalloc", "cuMemCreate", "cudaMallocHost"})
    EXPECT_TRUE(is_allocation_call(name)) << name;
  for (const char* name : {"cudaMallocAsync", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaFreeAsync"})
    EXPECT_FALSE(is_allocation_call(name)) << name;
}

}  // namespace
}  // namespace headroom::trace
