// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/peers/hta_critical_path.h"

#include <random>

#include "analysis_run.h"

namespace headroom::trace {
namespace {

constexpr Span kAnyTime{-1'000'000'000'000, 1'000'000'000'000};

using Times = std::map<std::string, std::int64_t>;
Times by_class(const CriticalPath& path) {
  Times times;
  for (const PathEdge& edge : path.edges) times[to_string(edge.kind)] += edge.weight_ns;
  return times;
}

CriticalPath path_of(const TraceBuilder& builder, Span window = kAnyTime) {
  return hta_critical_path(hta_path_graph(builder.trace, window));
}

/// Every edge runs forward; the path is connected, no longer than its time, and the longest.
void expect_sound(const PathGraph& graph) {
  std::map<PathNode, std::size_t> place;
  for (const PathNode node : graph.order) ASSERT_TRUE(place.emplace(node, place.size()).second);
  std::map<PathNode, std::int64_t> longest;
  std::int64_t best = 0;
  for (const PathNode node : graph.order) {
    for (const PathEdge& edge : graph.edges) {
      if (edge.to != node) continue;
      ASSERT_LT(place.at(edge.from), place.at(edge.to));
      EXPECT_LE(edge.weight_ns, graph.at_ns[edge.to] - graph.at_ns[edge.from]);
      longest[node] = std::max(longest[node], longest[edge.from] + edge.weight_ns);
    }
    best = std::max(best, longest[node]);
  }
  const CriticalPath path = hta_critical_path(graph);
  EXPECT_EQ(path.length_ns, best);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < path.edges.size(); ++i) {
    sum += path.edges[i].weight_ns;
    if (i > 0) {
      EXPECT_EQ(path.edges[i - 1].to, path.edges[i].from);
    }
  }
  EXPECT_EQ(sum, path.length_ns);
  EXPECT_LE(path.length_ns, path.end_ns - path.start_ns);
}

/// A kernel of 1000 ns at 20, launched at 0; a call [100, 1100] and an op of 50 ns.
struct Waiting {
  TraceBuilder builder;
  explicit Waiting(const char* call, std::int64_t stream = 7) {
    builder.launch(0, 10, "gemm", 20, 1000, 1, 0, stream);
    builder.runtime(call, 100, 1000, 2);
    builder.op("after", 1200, 50);
  }
  Times times() const { return by_class(path_of(builder)); }
};

using HtaCriticalPath = BuiltTrace;

TEST_F(HtaCriticalPath, TimeInsideNestedOperatorsGoesToTheInnermost) {
  const std::uint32_t outer = builder.op("outer", 0, 100).event, inner = builder.op("inner", 10, 30).event;
  const CriticalPath path = path_of(builder);
  ASSERT_EQ(path.edges.size(), 3U);
  EXPECT_EQ(path.length_ns, 100);
  EXPECT_EQ(std::tuple(path.edges[0].event, path.edges[0].weight_ns), std::tuple(outer, 10));
  EXPECT_EQ(std::tuple(path.edges[1].event, path.edges[1].weight_ns), std::tuple(inner, 30));
  EXPECT_EQ(std::tuple(path.edges[2].event, path.edges[2].weight_ns), std::tuple(outer, 60));
}

TEST_F(HtaCriticalPath, TopLevelOperatorsOfAThreadAreSerialAndTheTimeBetweenThemDoesNotCount) {
  builder.op("a", 0, 100);
  builder.op("b", 150, 50);
  builder.op("elsewhere", 0, 140, -1, "2");
  const CriticalPath path = path_of(builder);
  EXPECT_EQ(path.length_ns, 150);
  EXPECT_EQ(path.end_ns - path.start_ns, 200);
  EXPECT_EQ(by_class(path), (Times{{"cpu", 150}, {"between operators", 0}}));
}

TEST_F(HtaCriticalPath, AnEventThatOutlivesItsParentIsCut) {
  builder.op("parent", 0, 100);
  builder.op("child", 90, 30);
  builder.op("next", 130, 10);
  EXPECT_EQ(path_of(builder).length_ns, 110);
}

TEST_F(HtaCriticalPath, ALaunchOnAnIdleStreamDelaysItsKernelFromTheStartOfTheCall) {
  builder.op("aten::mm", 0, 20);
  builder.launch(5, 10, "gemm", 30, 100, 1);
  const CriticalPath path = path_of(builder);
  EXPECT_EQ(by_class(path), (Times{{"cpu", 5}, {"launch", 25}, {"gpu compute", 100}}));
  EXPECT_EQ(path.length_ns, 130);
}

TEST_F(HtaCriticalPath, AKernelThatWaitedInTheQueueHangsOnTheOneBeforeIt) {
  builder.runtime("cudaLaunchKernel", 0, 5, 1);
  builder.runtime("cudaLaunchKernel", 10, 5, 2);
  builder.kernel("first", 20, 100, 1);
  builder.kernel("second", 127, 30, 2);
  // The second was queued before the first started: no launch delay.
  const CriticalPath path = path_of(builder);
  EXPECT_EQ(by_class(path), (Times{{"gpu compute", 130}, {"kernel-kernel", 7}}));
}

TEST_F(HtaCriticalPath, NoLaunchDelayWhileTheKernelBeforeStillRan) {
  builder.launch(0, 5, "first", 10, 100, 1);
  builder.launch(50, 5, "second", 115, 30, 2);
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"launch", 10}, {"gpu compute", 130}, {"kernel-kernel", 5}}));
}

TEST_F(HtaCriticalPath, AKernelLaunchedAfterTheOneBeforeEndedWaitsForItsLaunch) {
  builder.op("python", 0, 200);
  builder.launch(5, 5, "first", 10, 100, 1);
  builder.launch(150, 5, "second", 160, 300, 2);
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"cpu", 150}, {"launch", 10}, {"gpu compute", 300}}));
}

TEST_F(HtaCriticalPath, AGapOfOneAndAHalfMillisecondsIsNoKernelKernelDelay) {
  for (const std::int64_t gap : {1'499'999, 1'500'000}) {
    TraceBuilder built;
    built.launch(0, 5, "first", 10, 100, 1);
    built.launch(50, 5, "second", 110 + gap, 30, 2);
    const Times expected = gap < 1'500'000
                               ? Times{{"launch", 10}, {"gpu compute", 130}, {"kernel-kernel", gap}}
                               : Times{{"launch", 10}, {"gpu compute", 100}};
    EXPECT_EQ(by_class(path_of(built)), expected) << gap;
  }
}

TEST_F(HtaCriticalPath, StreamsAreApart) {
  builder.kernel("a", 0, 100, kNoCorrelation, 0, 7);
  builder.kernel("b", 110, 100, kNoCorrelation, 0, 8);
  builder.kernel("c", 110, 50, kNoCorrelation, 1, 7);
  EXPECT_EQ(path_of(builder).length_ns, 100);
}

TEST_F(HtaCriticalPath, TheLaunchOfAGraphDelaysItsFirstKernelOnly) {
  builder.runtime("cudaGraphLaunch", 0, 5, 1);
  builder.kernel("a", 10, 20, 1);
  builder.kernel("b", 31, 20, 1);
  builder.kernel("c", 52, 20, 1);
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"launch", 10}, {"gpu compute", 60}, {"kernel-kernel", 2}}));
}

TEST_F(HtaCriticalPath, OverlappingKernelsOfAStreamAreNoChain) {
  builder.kernel("before", 0, 10);
  builder.kernel("long", 20, 100);
  builder.kernel("beside", 30, 40);
  builder.kernel("after", 125, 10);
  const PathGraph graph = hta_path_graph(builder.trace, kAnyTime);
  expect_sound(graph);
  EXPECT_EQ(hta_critical_path(graph).length_ns, 135);
}

TEST_F(HtaCriticalPath, CommunicationAndDataLoadingAreClassesOfTheirOwn) {
  builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 1000);
  builder.op("aten::stack", 100, 50);
  builder.annotation("forward", 1000, 1000);  // no GPU work: not in the graph
  builder.op("nccl:all_reduce", 1100, 20);
  builder.launch(1105, 10, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1120, 500, 1);
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"data loading", 1000},
                                               {"between operators", 0},
                                               {"cpu", 5},
                                               {"launch", 15},
                                               {"gpu communication", 500}}));
}

TEST_F(HtaCriticalPath, ThreadsThatTakeTurnsAreOnePath) {
  builder.op("forward", 0, 100);
  builder.runtime("cudaLaunchKernel", 10, 5, 1);
  builder.op("autograd::engine::evaluate_function: MmBackward0", 150, 300, -1, "2");
  builder.runtime("cudaLaunchKernel", 200, 5, 2, "2");
  builder.op("Optimizer.step", 500, 50);
  builder.op("worker", 110, 390, -1, "3");  // nobody waits: it never calls the device
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"cpu", 450}, {"between operators", 0}}));
}

TEST_F(HtaCriticalPath, ThreadsThatWorkAtOnceDoNotWaitForEachOther) {
  builder.op("forward", 0, 100);
  builder.runtime("cudaLaunchKernel", 10, 5, 1);
  builder.op("other", 50, 300, -1, "2");
  builder.runtime("cudaLaunchKernel", 60, 5, 2, "2");
  EXPECT_EQ(path_of(builder).length_ns, 300);
}

TEST_F(HtaCriticalPath, ClocksThatDisagreeDoNotLengthenThePath) {
  builder.launch(100, 10, "gemm", 60, 1000, 1);  // by the device's clock before its launch
  builder.runtime("cudaDeviceSynchronize", 120, 960, 2);
  builder.op("after", 1080, 100);
  const PathGraph graph = hta_path_graph(builder.trace, kAnyTime);
  expect_sound(graph);
  const CriticalPath path = hta_critical_path(graph);
  EXPECT_EQ(path.edges.back().kind, HtaPathClass::kCpu);
  EXPECT_EQ(path.length_ns, 1000 + 100);
  EXPECT_EQ(path.end_ns - path.start_ns, 1180 - 60);
}

TEST_F(HtaCriticalPath, TheWindowTakesWhatStartsInItAndTheWorkLaunchedThere) {
  builder.launch(0, 5, "of the step before", 110, 1000, 1);
  builder.op("in", 100, 50);
  builder.launch(110, 5, "launched in it", 1120, 70, 2);
  builder.op("after", 200, 500);
  const CriticalPath path = path_of(builder, {100, 200});
  EXPECT_EQ(by_class(path), (Times{{"cpu", 10}, {"synchronisation", 0}, {"gpu compute", 70}}));
}

TEST_F(HtaCriticalPath, RandomTracesStayAcyclicAndTheirPathsLongest) {
  std::mt19937 random(7);
  const auto upto = [&](int limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  const char* const kinds[] = {"Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event"};
  const char* const calls[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery",
                               "cudaLaunchKernel"};
  for (int round = 0; round < 300; ++round) {
    TraceBuilder built;
    for (int i = 0; i < 12; ++i) {
      built.op("op", upto(200), upto(100), -1, std::to_string(upto(2)));
      built.runtime(calls[upto(4)], upto(200), upto(40), upto(10), std::to_string(upto(2)));
      built.kernel(upto(3) == 0 ? "ncclKernel" : "gemm", upto(300), upto(60), upto(10), 0, 7 + upto(2));
      if (round % 3 == 0) continue;
      built.sync(kinds[upto(4)], upto(200), upto(40), upto(10), 0, 7 + upto(2), 7 + upto(2), upto(10));
    }
    expect_sound(hta_path_graph(built.trace, round % 2 == 0 ? kAnyTime : Span{50, 150}));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

const Times kWaited{
    {"launch", 20}, {"gpu compute", 1000}, {"synchronisation", 0}, {"between operators", 0}, {"cpu", 50}};

using HtaCriticalPathSyncs = BuiltTrace;

TEST_F(HtaCriticalPathSyncs, AContextSyncWaitsForTheLastWorkOfEveryStream) {
  Waiting waiting("cudaDeviceSynchronize", 9);
  waiting.builder.kernel("other", 20, 100, kNoCorrelation, 0, 7);
  waiting.builder.sync("Context Sync", 101, 999, 2);
  EXPECT_EQ(waiting.times(), kWaited);
}

TEST_F(HtaCriticalPathSyncs, AStreamSyncWaitsForItsStreamOnly) {
  for (const std::int64_t stream : {7, 8}) {
    Waiting waiting("cudaStreamSynchronize", stream);
    waiting.builder.sync("Stream Sync", 101, 999, 2, 0, 7);
    if (stream == 8) waiting.builder.kernel("other", 0, 5, kNoCorrelation, 0, 7);
    if (stream == 7) {
      EXPECT_EQ(waiting.times(), kWaited);
    } else {
      // The awaited work ended before the wait began.
      EXPECT_EQ(path_of(waiting.builder).length_ns, 10 + 1000 + 50);
      EXPECT_EQ(waiting.times().count("gpu compute"), 0U);
    }
  }
}

TEST_F(HtaCriticalPathSyncs, AnEventSyncWaitsForWhatWasQueuedBeforeTheRecord) {
  Waiting waiting("cudaEventSynchronize");
  waiting.builder.runtime("cudaEventRecord", 15, 5, 3);
  waiting.builder.launch(30, 5, "behind the record", 1021, 70, 4);
  waiting.builder.sync("Event Sync", 101, 999, 2).wait_on_stream = 7;
  waiting.builder.trace.syncs.back().wait_on_event_record_correlation = 3;
  const PathGraph graph = hta_path_graph(waiting.builder.trace, kAnyTime);
  expect_sound(graph);
  const auto edge = std::ranges::find_if(
      graph.edges, [](const PathEdge& one) { return one.kind == HtaPathClass::kSync && one.to % 2 == 1; });
  ASSERT_NE(edge, graph.edges.end());
  EXPECT_EQ(event_of(edge->from), 1U);
  EXPECT_EQ(event_of(edge->to), 2U);
  EXPECT_EQ(edge->weight_ns, 0);
  EXPECT_EQ(std::tuple(graph.syncs, graph.syncs_unmatched), std::tuple(1U, 0U));
}

TEST_F(HtaCriticalPathSyncs, AQueryWaitsForNothingThatEndedAfterIt) {
  builder.launch(0, 10, "gemm", 20, 1000, 1);
  builder.runtime("cudaEventRecord", 15, 5, 3);
  builder.runtime("cudaEventQuery", 100, 10, 2);
  builder.op("after", 200, 50);
  builder.sync("Event Sync", 101, 8, 2).wait_on_stream = 7;
  builder.trace.syncs.back().wait_on_event_record_correlation = 3;
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"launch", 20}, {"gpu compute", 1000}}));
}

TEST_F(HtaCriticalPathSyncs, AStreamThatWaitsForAnEventStartsAfterTheSource) {
  builder.launch(0, 5, "source", 10, 1000, 1, 0, 7);
  builder.runtime("cudaEventRecord", 20, 5, 2);
  builder.runtime("cudaStreamWaitEvent", 30, 5, 3);
  builder.launch(40, 5, "waiter", 1015, 300, 4, 0, 8);
  builder.sync("Stream Wait Event", 31, 1, 3, 0, 8, 7, 2);
  // Synchronisations have no weight: the gap of 5 ns has no class.
  EXPECT_EQ(by_class(path_of(builder)),
            (Times{{"launch", 10}, {"gpu compute", 1300}, {"synchronisation", 0}}));
}

TEST_F(HtaCriticalPathSyncs, AnEventThatWasOverBeforeTheLaunchDelaysNothing) {
  builder.launch(0, 5, "source", 10, 10, 1, 0, 7);
  builder.runtime("cudaEventRecord", 20, 5, 2);
  builder.runtime("cudaStreamWaitEvent", 30, 5, 3);
  builder.launch(40, 5, "waiter", 60, 300, 4, 0, 8);
  builder.sync("Stream Wait Event", 31, 1, 3, 0, 8, 7, 2);
  EXPECT_EQ(by_class(path_of(builder)).at("launch"), 20);
}

TEST_F(HtaCriticalPathSyncs, WithoutSyncEventsTheNamesOfTheCallsTell) {
  for (const char* call : {"cudaDeviceSynchronize", "hipStreamSynchronize", "cudaEventSynchronize"}) {
    const Waiting waiting(call);
    EXPECT_EQ(waiting.times(), kWaited) << call;
    EXPECT_TRUE(hta_path_graph(waiting.builder.trace, kAnyTime).syncs_are_inferred);
  }
  const Waiting other("cudaMalloc");
  EXPECT_EQ(other.times(), (Times{{"cpu", 1060}, {"between operators", 0}}));
}

TEST_F(HtaCriticalPathSyncs, ACopyToPageableMemoryHoldsItsCall) {
  for (const char* copy : {"Memcpy DtoH (Device -> Pageable)", "Memcpy DtoH (Device -> Pinned)"}) {
    TraceBuilder built;
    built.runtime("cudaMemcpyAsync", 0, 1000, 1);
    built.gpu(Category::kGpuMemcpy, copy, 20, 900, 1);
    built.op("after", 1000, 50);
    const bool is_pageable = std::string(copy).find("Pageable") != std::string::npos;
    EXPECT_EQ(path_of(built).length_ns, is_pageable ? 20 + 900 + 50 : 1050) << copy;
  }
}

TEST_F(HtaCriticalPathSyncs, DependenciesAgainstTheOrderOfLaunchesAreLeftOutAndCounted) {
  builder.launch(60, 5, "waiter", 70, 10, 1, 0, 8);
  builder.runtime("cudaStreamWaitEvent", 50, 5, 2);
  builder.launch(90, 5, "source", 95, 10, 3, 0, 7);
  builder.runtime("cudaEventRecord", 100, 5, 4);
  builder.sync("Stream Wait Event", 51, 1, 2, 0, 8, 7, 4);
  const PathGraph graph = hta_path_graph(builder.trace, kAnyTime);
  EXPECT_EQ(graph.edges_left_out, 1U);
  expect_sound(graph);
}

TEST_F(HtaCriticalPathSyncs, ASyncWithoutItsCallIsCounted) {
  builder.op("op", 0, 10);
  builder.sync("Stream Sync", 5, 1, 99, 0, 7);
  const PathGraph graph = hta_path_graph(builder.trace, kAnyTime);
  EXPECT_EQ(std::tuple(graph.syncs, graph.syncs_unmatched), std::tuple(1U, 1U));
}

}  // namespace
}  // namespace headroom::trace
