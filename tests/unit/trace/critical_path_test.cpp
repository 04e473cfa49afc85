// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "critical_path_view.h"

namespace headroom::trace {
namespace {

TEST(CriticalPath, TimeInsideNestedOperatorsGoesToTheInnermost) {
  TraceBuilder builder;
  const std::uint32_t outer = builder.op("outer", 0, 100).event, inner = builder.op("inner", 10, 30).event;
  const CriticalPath path = path_of(builder);
  ASSERT_EQ(path.edges.size(), 3U);
  EXPECT_EQ(path.length_ns, 100);
  EXPECT_EQ(path.edges[0].event, outer);
  EXPECT_EQ(path.edges[0].weight_ns, 10);
  EXPECT_EQ(path.edges[1].event, inner);
  EXPECT_EQ(path.edges[1].weight_ns, 30);
  EXPECT_EQ(path.edges[2].event, outer);
  EXPECT_EQ(path.edges[2].weight_ns, 60);
}

TEST(CriticalPath, TopLevelOperatorsOfAThreadAreSerialAndTheTimeBetweenThemDoesNotCount) {
  TraceBuilder builder;
  builder.op("a", 0, 100);
  builder.op("b", 150, 50);
  builder.op("elsewhere", 0, 140, -1, "2");
  const CriticalPath path = path_of(builder);
  EXPECT_EQ(path.length_ns, 150);
  EXPECT_EQ(path.end_ns - path.start_ns, 200);
  EXPECT_EQ(by_class(path), (Times{{"cpu", 150}, {"between operators", 0}}));
}

TEST(CriticalPath, AnEventThatOutlivesItsParentIsCut) {
  TraceBuilder builder;
  builder.op("parent", 0, 100);
  builder.op("child", 90, 30);
  builder.op("next", 130, 10);
  EXPECT_EQ(path_of(builder).length_ns, 110);
}

TEST(CriticalPath, ALaunchOnAnIdleStreamDelaysItsKernelFromTheStartOfTheCall) {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 20);
  builder.runtime("cudaLaunchKernel", 5, 10, 1);
  builder.kernel("gemm", 30, 100, 1);
  const CriticalPath path = path_of(builder);
  EXPECT_EQ(by_class(path), (Times{{"cpu", 5}, {"launch", 25}, {"gpu compute", 100}}));
  EXPECT_EQ(path.length_ns, 130);
}

TEST(CriticalPath, AKernelThatWaitedInTheQueueHangsOnTheOneBeforeIt) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 5, 1);
  builder.runtime("cudaLaunchKernel", 10, 5, 2);
  builder.kernel("first", 20, 100, 1);
  builder.kernel("second", 127, 30, 2);
  // The first met an empty queue, but by its start the second was in it: no launch delay is counted.
  const CriticalPath path = path_of(builder);
  EXPECT_EQ(by_class(path), (Times{{"gpu compute", 130}, {"kernel-kernel", 7}}));
}

TEST(CriticalPath, NoLaunchDelayWhileTheKernelBeforeStillRan) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 5, 1);
  builder.kernel("first", 10, 100, 1);
  builder.runtime("cudaLaunchKernel", 50, 5, 2);
  builder.kernel("second", 115, 30, 2);
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"launch", 10}, {"gpu compute", 130}, {"kernel-kernel", 5}}));
}

TEST(CriticalPath, AKernelLaunchedAfterTheOneBeforeEndedWaitsForItsLaunch) {
  TraceBuilder builder;
  builder.op("python", 0, 200);
  builder.runtime("cudaLaunchKernel", 5, 5, 1);
  builder.kernel("first", 10, 100, 1);
  builder.runtime("cudaLaunchKernel", 150, 5, 2);
  builder.kernel("second", 160, 300, 2);
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"cpu", 150}, {"launch", 10}, {"gpu compute", 300}}));
}

TEST(CriticalPath, AGapOfOneAndAHalfMillisecondsIsNoKernelKernelDelay) {
  for (const std::int64_t gap : {1'499'999, 1'500'000}) {
    TraceBuilder builder;
    builder.runtime("cudaLaunchKernel", 0, 5, 1);
    builder.kernel("first", 10, 100, 1);
    builder.runtime("cudaLaunchKernel", 50, 5, 2);
    builder.kernel("second", 110 + gap, 30, 2);
    const Times expected = gap < 1'500'000
                               ? Times{{"launch", 10}, {"gpu compute", 130}, {"kernel-kernel", gap}}
                               : Times{{"launch", 10}, {"gpu compute", 100}};
    EXPECT_EQ(by_class(path_of(builder)), expected) << gap;
  }
}

TEST(CriticalPath, StreamsAreApart) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100, kNoCorrelation, 0, 7);
  builder.kernel("b", 110, 100, kNoCorrelation, 0, 8);
  builder.kernel("c", 110, 50, kNoCorrelation, 1, 7);
  EXPECT_EQ(path_of(builder).length_ns, 100);
}

TEST(CriticalPath, TheLaunchOfAGraphDelaysItsFirstKernelOnly) {
  TraceBuilder builder;
  builder.runtime("cudaGraphLaunch", 0, 5, 1);
  builder.kernel("a", 10, 20, 1);
  builder.kernel("b", 31, 20, 1);
  builder.kernel("c", 52, 20, 1);
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"launch", 10}, {"gpu compute", 60}, {"kernel-kernel", 2}}));
}

TEST(CriticalPath, OverlappingKernelsOfAStreamAreNoChain) {
  TraceBuilder builder;
  builder.kernel("before", 0, 10);
  builder.kernel("long", 20, 100);
  builder.kernel("beside", 30, 40);
  builder.kernel("after", 125, 10);
  const PathGraph graph = critical_path_graph(builder.trace, kAnyTime);
  expect_sound(graph);
  EXPECT_EQ(critical_path(graph).length_ns, 135);
}

TEST(CriticalPath, CommunicationAndDataLoadingAreClassesOfTheirOwn) {
  TraceBuilder builder;
  builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 1000);
  builder.op("aten::stack", 100, 50);
  builder.annotation("forward", 1000, 1000);  // no work of its own: not in the graph
  builder.op("nccl:all_reduce", 1100, 20);
  builder.runtime("cudaLaunchKernel", 1105, 10, 1);
  builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1120, 500, 1);
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"data loading", 1000},
                                               {"between operators", 0},
                                               {"cpu", 5},
                                               {"launch", 15},
                                               {"gpu communication", 500}}));
}

TEST(CriticalPath, ThreadsThatTakeTurnsAreOnePath) {
  TraceBuilder builder;
  builder.op("forward", 0, 100);
  builder.runtime("cudaLaunchKernel", 10, 5, 1);
  builder.op("autograd::engine::evaluate_function: MmBackward0", 150, 300, -1, "2");
  builder.runtime("cudaLaunchKernel", 200, 5, 2, "2");
  builder.op("Optimizer.step", 500, 50);
  builder.op("worker", 110, 390, -1, "3");  // it never calls the device: nobody waits for it
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"cpu", 450}, {"between operators", 0}}));
}

TEST(CriticalPath, ThreadsThatWorkAtOnceDoNotWaitForEachOther) {
  TraceBuilder builder;
  builder.op("forward", 0, 100);
  builder.runtime("cudaLaunchKernel", 10, 5, 1);
  builder.op("other", 50, 300, -1, "2");
  builder.runtime("cudaLaunchKernel", 60, 5, 2, "2");
  EXPECT_EQ(path_of(builder).length_ns, 300);
}

TEST(CriticalPath, ClocksThatDisagreeDoNotLengthenThePath) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 100, 10, 1);
  builder.kernel("gemm", 60, 1000, 1);  // by the device's clock before its launch
  builder.runtime("cudaDeviceSynchronize", 120, 960, 2);
  builder.op("after", 1080, 100);
  const PathGraph graph = critical_path_graph(builder.trace, kAnyTime);
  expect_sound(graph);
  const CriticalPath path = critical_path(graph);
  EXPECT_EQ(path.edges.back().kind, PathClass::kCpu);
  EXPECT_EQ(path.length_ns, 1000 + 100);
  EXPECT_EQ(path.end_ns - path.start_ns, 1180 - 60);
}

TEST(CriticalPath, TheWindowTakesWhatStartsInItAndTheWorkLaunchedThere) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 5, 1);
  builder.kernel("of the step before", 110, 1000, 1);
  builder.op("in", 100, 50);
  builder.runtime("cudaLaunchKernel", 110, 5, 2);
  builder.kernel("launched in it", 1120, 70, 2);
  builder.op("after", 200, 500);
  const CriticalPath path = path_of(builder, {100, 200});
  EXPECT_EQ(by_class(path), (Times{{"cpu", 10}, {"synchronisation", 0}, {"gpu compute", 70}}));
}

TEST(CriticalPath, RandomTracesStayAcyclicAndTheirPathsLongest) {
  std::mt19937 random(7);
  const auto upto = [&](int limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  const char* const kinds[] = {"Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event"};
  const char* const calls[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery",
                               "cudaLaunchKernel"};
  for (int round = 0; round < 300; ++round) {
    TraceBuilder builder;
    for (int i = 0; i < 12; ++i) {
      builder.op("op", upto(200), upto(100), -1, std::to_string(upto(2)));
      builder.runtime(calls[upto(4)], upto(200), upto(40), upto(10), std::to_string(upto(2)));
      builder.kernel(upto(3) == 0 ? "ncclKernel" : "gemm", upto(300), upto(60), upto(10), 0, 7 + upto(2));
      if (round % 3 == 0) continue;
      SyncDetail& sync = builder.sync(kinds[upto(4)], upto(200), upto(40), upto(10), 0, 7 + upto(2));
      sync.wait_on_stream = 7 + upto(2);
      sync.wait_on_event_record_correlation = upto(10);
    }
    expect_sound(critical_path_graph(builder.trace, round % 2 == 0 ? kAnyTime : Span{50, 150}));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace headroom::trace
