// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/device_work.h"

#include <gmock/gmock.h>

#include "trace_builder.h"

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
  EXPECT_EQ(devices[0].kernels, 3U);
  EXPECT_EQ(devices[0].copies, 1U);
  EXPECT_EQ(devices[0].sets, 1U);
  const Breakdown times = breakdown(devices[0]);
  EXPECT_EQ(times.span_ns, 100);
  EXPECT_EQ(times.busy_ns, 45);
  EXPECT_EQ(times.compute_ns, 10);
  EXPECT_EQ(times.exposed_communication_ns, 15);
  EXPECT_EQ(times.exposed_memory_ns, 20);
  EXPECT_EQ(times.idle_ns, 55);
  EXPECT_EQ(times.communication_ns, 20);
  EXPECT_EQ(times.overlapped_ns, 5);
  EXPECT_THAT(times.combinations, testing::ElementsAre(0, 5, 10, 5, 20, 0, 5, 0));
  EXPECT_DOUBLE_EQ(times.utilization(), 0.45);
}

TEST(DeviceWork, TotalsAddOverDevices) {
  TraceBuilder builder;
  builder.kernel("a", 0, 10);
  builder.kernel("b", 1000, 40, kNoCorrelation, 1);
  builder.kernel("c", 1080, 20, kNoCorrelation, 1);
  const Breakdown sum = breakdown(builder.trace);
  EXPECT_DOUBLE_EQ(utilization(builder.trace), 70.0 / 110);
  EXPECT_EQ(sum.span_ns, 110);  // 10 of device 0, 100 of device 1: not the time between their works
  EXPECT_EQ(sum.busy_ns, 70);
  EXPECT_EQ(sum.idle_ns, 40);
}

TEST(DeviceWork, NoWorkIsNoDevice) {
  const TraceBuilder builder;
  EXPECT_TRUE(device_work(builder.trace).devices.empty());
  EXPECT_EQ(utilization(builder.trace), 0.0);
}

}  // namespace
}  // namespace headroom::trace
