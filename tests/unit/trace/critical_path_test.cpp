// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "analysis_run.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/critical_path/replay.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/peers/hta_critical_path.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

constexpr Span kAnyTime{-1'000'000'000'000, 1'000'000'000'000};

using Times = std::map<std::string, std::int64_t>;
/// Time by class, without the classes that the path does not cross.
Times by_class(const CriticalPath& path) {
  Times times;
  for (const PathEdge& edge : path.edges) times[to_string(edge.kind)] += edge.weight_ns;
  return times;
}

CriticalPath path_of(const TraceBuilder& builder, Span window = kAnyTime) {
  return hta_critical_path(hta_path_graph(builder.trace, window));
}

/// Expects that every edge runs forward, and that the path is connected, no longer than its time, and the
/// longest there is.
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

/// A kernel of 1000 ns at 20, launched at 0, on the stream; then a call [100, 1100] and an op of 50 ns.
struct Waiting {
  TraceBuilder builder;
  explicit Waiting(const char* call, std::int64_t stream = 7) {
    builder.runtime("cudaLaunchKernel", 0, 10, 1);
    builder.kernel("gemm", 20, 1000, 1, 0, stream);
    builder.runtime(call, 100, 1000, 2);
    builder.op("after", 1200, 50);
  }
  Times times() const { return by_class(path_of(builder)); }
};

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
  const PathGraph graph = hta_path_graph(builder.trace, kAnyTime);
  expect_sound(graph);
  EXPECT_EQ(hta_critical_path(graph).length_ns, 135);
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
  const PathGraph graph = hta_path_graph(builder.trace, kAnyTime);
  expect_sound(graph);
  const CriticalPath path = hta_critical_path(graph);
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
    expect_sound(hta_path_graph(builder.trace, round % 2 == 0 ? kAnyTime : Span{50, 150}));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

const Times kWaited{
    {"launch", 20}, {"gpu compute", 1000}, {"synchronisation", 0}, {"between operators", 0}, {"cpu", 50}};

TEST(CriticalPathSyncs, AContextSyncWaitsForTheLastWorkOfEveryStream) {
  Waiting waiting("cudaDeviceSynchronize", 9);
  waiting.builder.kernel("other", 20, 100, kNoCorrelation, 0, 7);
  waiting.builder.sync("Context Sync", 101, 999, 2);
  EXPECT_EQ(waiting.times(), kWaited);
}

TEST(CriticalPathSyncs, AStreamSyncWaitsForItsStreamOnly) {
  for (const std::int64_t stream : {7, 8}) {
    Waiting waiting("cudaStreamSynchronize", stream);
    waiting.builder.sync("Stream Sync", 101, 999, 2, 0, 7);
    if (stream == 8) waiting.builder.kernel("other", 0, 5, kNoCorrelation, 0, 7);
    if (stream == 7) {
      EXPECT_EQ(waiting.times(), kWaited);
    } else {
      // What it did wait for ended before it began: the time is its own.
      EXPECT_EQ(path_of(waiting.builder).length_ns, 10 + 1000 + 50);
      EXPECT_EQ(waiting.times().count("gpu compute"), 0U);
    }
  }
}

TEST(CriticalPathSyncs, AnEventSyncWaitsForWhatWasQueuedBeforeTheRecord) {
  Waiting waiting("cudaEventSynchronize");
  waiting.builder.runtime("cudaEventRecord", 15, 5, 3);
  waiting.builder.runtime("cudaLaunchKernel", 30, 5, 4);
  waiting.builder.kernel("behind the record", 1021, 70, 4);
  waiting.builder.sync("Event Sync", 101, 999, 2).wait_on_stream = 7;
  waiting.builder.trace.syncs.back().wait_on_event_record_correlation = 3;
  const PathGraph graph = hta_path_graph(waiting.builder.trace, kAnyTime);
  expect_sound(graph);
  const auto edge = std::ranges::find_if(
      graph.edges, [](const PathEdge& one) { return one.kind == PathClass::kSync && one.to % 2 == 1; });
  ASSERT_NE(edge, graph.edges.end());
  EXPECT_EQ(event_of(edge->from), 1U);
  EXPECT_EQ(event_of(edge->to), 2U);
  EXPECT_EQ(edge->weight_ns, 0);
  EXPECT_EQ(graph.syncs, 1U);
  EXPECT_EQ(graph.syncs_unmatched, 0U);
}

TEST(CriticalPathSyncs, AQueryWaitsForNothingThatEndedAfterIt) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 10, 1);
  builder.kernel("gemm", 20, 1000, 1);
  builder.runtime("cudaEventRecord", 15, 5, 3);
  builder.runtime("cudaEventQuery", 100, 10, 2);
  builder.op("after", 200, 50);
  builder.sync("Event Sync", 101, 8, 2).wait_on_stream = 7;
  builder.trace.syncs.back().wait_on_event_record_correlation = 3;
  EXPECT_EQ(by_class(path_of(builder)), (Times{{"launch", 20}, {"gpu compute", 1000}}));
}

TEST(CriticalPathSyncs, AStreamThatWaitsForAnEventStartsAfterTheSource) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 5, 1);
  builder.kernel("source", 10, 1000, 1, 0, 7);
  builder.runtime("cudaEventRecord", 20, 5, 2);
  builder.runtime("cudaStreamWaitEvent", 30, 5, 3);
  builder.runtime("cudaLaunchKernel", 40, 5, 4);
  builder.kernel("waiter", 1015, 300, 4, 0, 8);
  SyncDetail& sync = builder.sync("Stream Wait Event", 31, 1, 3, 0, 8);
  sync.wait_on_stream = 7;
  sync.wait_on_event_record_correlation = 2;
  // The gap of 5 ns between the two is no class of its own: a synchronisation has no weight.
  EXPECT_EQ(by_class(path_of(builder)),
            (Times{{"launch", 10}, {"gpu compute", 1300}, {"synchronisation", 0}}));
}

TEST(CriticalPathSyncs, AnEventThatWasOverBeforeTheLaunchDelaysNothing) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 5, 1);
  builder.kernel("source", 10, 10, 1, 0, 7);
  builder.runtime("cudaEventRecord", 20, 5, 2);
  builder.runtime("cudaStreamWaitEvent", 30, 5, 3);
  builder.runtime("cudaLaunchKernel", 40, 5, 4);
  builder.kernel("waiter", 60, 300, 4, 0, 8);
  SyncDetail& sync = builder.sync("Stream Wait Event", 31, 1, 3, 0, 8);
  sync.wait_on_stream = 7;
  sync.wait_on_event_record_correlation = 2;
  EXPECT_EQ(by_class(path_of(builder)).at("launch"), 20);
}

TEST(CriticalPathSyncs, WithoutSyncEventsTheNamesOfTheCallsTell) {
  for (const char* call : {"cudaDeviceSynchronize", "hipStreamSynchronize", "cudaEventSynchronize"}) {
    const Waiting waiting(call);
    EXPECT_EQ(waiting.times(), kWaited) << call;
    EXPECT_TRUE(hta_path_graph(waiting.builder.trace, kAnyTime).syncs_are_inferred);
  }
  const Waiting other("cudaMalloc");
  EXPECT_EQ(other.times(), (Times{{"cpu", 1060}, {"between operators", 0}}));
}

TEST(CriticalPathSyncs, ACopyToPageableMemoryHoldsItsCall) {
  for (const char* copy : {"Memcpy DtoH (Device -> Pageable)", "Memcpy DtoH (Device -> Pinned)"}) {
    TraceBuilder builder;
    builder.runtime("cudaMemcpyAsync", 0, 1000, 1);
    builder.gpu(Category::kGpuMemcpy, copy, 20, 900, 1);
    builder.op("after", 1000, 50);
    const bool is_pageable = std::string(copy).find("Pageable") != std::string::npos;
    EXPECT_EQ(path_of(builder).length_ns, is_pageable ? 20 + 900 + 50 : 1050) << copy;
  }
}

TEST(CriticalPathSyncs, DependenciesAgainstTheOrderOfLaunchesAreLeftOutAndCounted) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 60, 5, 1);
  builder.kernel("waiter", 70, 10, 1, 0, 8);
  builder.runtime("cudaStreamWaitEvent", 50, 5, 2);
  builder.runtime("cudaLaunchKernel", 90, 5, 3);
  builder.kernel("source", 95, 10, 3, 0, 7);
  builder.runtime("cudaEventRecord", 100, 5, 4);
  SyncDetail& sync = builder.sync("Stream Wait Event", 51, 1, 2, 0, 8);
  sync.wait_on_stream = 7;
  sync.wait_on_event_record_correlation = 4;
  const PathGraph graph = hta_path_graph(builder.trace, kAnyTime);
  EXPECT_EQ(graph.edges_left_out, 1U);
  expect_sound(graph);
}

TEST(CriticalPathSyncs, ASyncWithoutItsCallIsCounted) {
  TraceBuilder builder;
  builder.op("op", 0, 10);
  builder.sync("Stream Sync", 5, 1, 99, 0, 7);
  const PathGraph graph = hta_path_graph(builder.trace, kAnyTime);
  EXPECT_EQ(graph.syncs, 1U);
  EXPECT_EQ(graph.syncs_unmatched, 1U);
}

const Analysis& critical_path_analysis() {
  const Analysis* found = find_analysis("critical-path");
  EXPECT_NE(found, nullptr);
  return *found;
}

TEST(CriticalPathAnalysis, TakesTheMiddleStepOrTheOneAskedFor) {
  TraceBuilder builder;
  for (int step = 0; step < 3; ++step) {
    builder.step(10 + step, 1000 * step, 1000);
    builder.op("op", 1000 * step + 100, 100 * (step + 1));
  }
  AnalysisOptions options;
  EXPECT_EQ(critical_path_analysis().analyze(TraceIndex(builder.trace), options).headlines[0].value, 200);
  options.set("step", "12");
  EXPECT_EQ(critical_path_analysis().analyze(TraceIndex(builder.trace), options).headlines[0].value, 300);
  options.set("step", "all");
  EXPECT_EQ(critical_path_analysis().analyze(TraceIndex(builder.trace), options).headlines[0].value, 600);
  options.set("step", "99");
  EXPECT_THROW(critical_path_analysis().analyze(TraceIndex(builder.trace), options), Error);
}

TEST(CriticalPathAnalysis, TakesAnAnnotation) {
  TraceBuilder builder;
  builder.annotation("[measure|forward]", 0, 100);
  builder.op("op", 10, 20);
  builder.annotation("[measure|forward]", 1000, 100);
  builder.op("op", 1010, 30);
  AnalysisOptions options;
  options.set("annotation", "measure");
  options.set("step", "0");
  EXPECT_EQ(critical_path_analysis().analyze(TraceIndex(builder.trace), options).headlines[0].value, 20);
  options.set("step", "1");
  EXPECT_EQ(critical_path_analysis().analyze(TraceIndex(builder.trace), options).headlines[0].value, 30);
  options.set("step", "2");
  EXPECT_THROW(critical_path_analysis().analyze(TraceIndex(builder.trace), options), Error);
  options.set("annotation", "nowhere");
  EXPECT_THROW(critical_path_analysis().analyze(TraceIndex(builder.trace), options), Error);
}

TEST(CriticalPathAnalysis, ClassesSumToThePathAndElapsedToItsTime) {
  Waiting waiting("cudaDeviceSynchronize");
  const AnalysisResult result = critical_path_analysis().analyze(TraceIndex(waiting.builder.trace), {});
  const DataTable& path = result.tables[0];
  const DataTable& classes = result.tables[1];
  std::int64_t time = 0, elapsed = 0;
  for (const auto& row : classes.rows) {
    time += std::get<std::int64_t>(row[1]);
    elapsed += std::get<std::int64_t>(row[4]);
  }
  EXPECT_EQ(time, 1070);
  EXPECT_EQ(std::get<std::int64_t>(path.rows[0][2]), 1070);
  EXPECT_EQ(elapsed, 1250);
  EXPECT_EQ(std::get<std::int64_t>(path.rows[0][3]), 1250);
  for (const DataTable& table : result.tables) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
  }
}

TEST(CriticalPathAnalysis, TheOverlayMarksThePathInAChromeTrace) {
  Waiting waiting("cudaDeviceSynchronize");
  waiting.builder.op("not \"on\" it", 0, 3, -1, "2");
  AnalysisOptions options;
  options.set("overlay", "out.json");
  const AnalysisResult result = critical_path_analysis().analyze(TraceIndex(waiting.builder.trace), options);
  ASSERT_EQ(result.files.size(), 1U);
  EXPECT_EQ(result.files[0].path, "out.json");
  const Json overlay = parse_json(result.files[0].content, "overlay");
  std::map<std::string, int> critical, arrows;
  double sliced_us = 0;
  for (const Json& event : overlay["traceEvents"]) {
    const std::string phase = event["ph"].string();
    if (phase == "s" || phase == "f") ++arrows[phase];
    if (phase != "X") continue;
    if (event["cat"] == "critical_path") {
      sliced_us += event["dur"].get<double>();
    } else {
      critical[event["name"].get<std::string>()] = event["args"]["critical"].get<int>();
    }
  }
  EXPECT_EQ(critical, (std::map<std::string, int>{{"cudaLaunchKernel", 1},
                                                  {"gemm", 1},
                                                  {"cudaDeviceSynchronize", 1},
                                                  {"after", 1},
                                                  {"not \"on\" it", 0}}));
  EXPECT_EQ(arrows, (std::map<std::string, int>{{"s", 2}, {"f", 2}}));
  EXPECT_NEAR(sliced_us, 1.070, 1e-9);
}

TEST(CriticalPathAnalysis, SaysThatThereIsNothing) {
  const TraceBuilder builder;
  const AnalysisResult result = critical_path_analysis().analyze(TraceIndex(builder.trace), {});
  EXPECT_EQ(result.headlines[0].value, 0);
  EXPECT_FALSE(result.notes.empty());
}

/// Two kernels of 1 ms with a launch each; between them the host waits for the first and works for 300 µs.
TraceBuilder waiting_program() {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 10'000, 1);
  builder.kernel("first", 20'000, 1'000'000, 1);
  builder.runtime("cudaDeviceSynchronize", 100'000, 930'000);  // returns 10 µs after the first has ended
  builder.op("aten::work", 1'030'000, 300'000);
  builder.runtime("cudaLaunchKernel", 1'330'000, 10'000, 2);
  builder.kernel("second", 1'350'000, 1'000'000, 2);
  return builder;
}

Replay replay_of(const Trace& trace, std::int64_t end) {
  return {trace, {0, end}, device_work(trace), launches(trace)};
}

TEST(Replay, TakesWhatWasRecorded) {
  const TraceBuilder builder = waiting_program();
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns(), 2'350'000);
  EXPECT_EQ(replay_of(builder.trace, 5'000'000).length_ns(), 5'000'000);
}

TEST(Replay, HostTimeThatIsGoneMakesWhatFollowsEarlier) {
  const TraceBuilder builder = waiting_program();
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns({.host_gone = {{1'030'000, 1'330'000}}}),
            2'050'000);
  // Time in which the device was busy all the same gains nothing.
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns({.host_gone = {{20'000, 90'000}}}), 2'350'000);
}

TEST(Replay, AWaitThatIsGoneLetsTheHostRunAhead) {
  const TraceBuilder builder = waiting_program();
  const Replay replay = replay_of(builder.trace, 2'000'000);
  ASSERT_EQ(replay.waits().size(), 1U);
  EXPECT_TRUE(replay.waits()[0].has_waited);
  // The second kernel is in the queue before the first ends: it follows at once, as kernels here do.
  EXPECT_GE(replay.length_ns({.waits_gone = {true}}), 2'020'000);
  EXPECT_LT(replay.length_ns({.waits_gone = {true}}), 2'050'000);
}

TEST(Replay, ShorterWorkEndsTheWaitForItEarlier) {
  const TraceBuilder builder = waiting_program();
  const Replay replay = replay_of(builder.trace, 2'000'000);
  EXPECT_EQ(replay.length_ns({.duration_ns = {400'000, 1'000'000}}), 1'750'000);
  // Work that is gone is not waited for: the host goes on when the call has begun.
  EXPECT_LT(replay.length_ns({.duration_ns = {WhatIf::kGone, 1'000'000}}), 1'450'000);
}

TEST(Replay, WhatDidNotRunSideBySideDoesNotNow) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 10'000, 1);
  builder.kernel("compute", 20'000, 1'000'000, 1);
  builder.runtime("cudaDeviceSynchronize", 100'000, 930'000);
  builder.runtime("cudaLaunchKernel", 1'100'000, 10'000, 2);
  builder.kernel("ncclDevKernel_AllReduce", 1'120'000, 500'000, 2, 0, 20);
  const Replay replay = replay_of(builder.trace, 1'620'000);
  EXPECT_EQ(replay.length_ns(), 1'620'000);
  EXPECT_GE(replay.length_ns({.waits_gone = {true}}), 1'520'000);
}

TEST(Replay, TwoAssumptionsAreOne) {
  const WhatIf a{.host_gone = {{0, 10}}, .waits_gone = {true}, .duration_ns = {5, 9}};
  const WhatIf b{.host_gone = {{5, 20}}, .waits_gone = {false, true}, .duration_ns = {7, WhatIf::kGone}};
  const WhatIf both = a + b;
  EXPECT_EQ(both.host_gone, (Spans{{0, 20}}));
  EXPECT_EQ(both.waits_gone, (std::vector<bool>{true, true}));
  EXPECT_EQ(both.duration_ns, (std::vector<std::int64_t>{5, WhatIf::kGone}));
  EXPECT_EQ((a + WhatIf{}).duration_ns, a.duration_ns);
}

TEST(CriticalPath, WithoutStepsSaysHowToMarkThemInTheWordsOfTheWriter) {
  for (const auto& [writer, words] : {std::pair{Writer::kJax, "StepTraceAnnotation"},
                                      {Writer::kNsight, "NVTX range"},
                                      {Writer::kRocprof, "roctx"}}) {
    TraceBuilder builder;
    builder.trace.writer = writer;
    builder.op("aten::mm", 0, 20'000);
    builder.runtime("cudaLaunchKernel", 5'000, 5'000, 1);
    builder.kernel("sgemm", 12'000, 50'000, 1);
    builder.runtime("cudaDeviceSynchronize", 21'000, 42'000, 2);
    std::string notes;
    for (const std::string& note : run_analysis("critical-path", builder.trace).notes) notes += note + "\n";
    EXPECT_THAT(notes, testing::HasSubstr(
                           std::string("no steps in the file: the path is that of the whole trace; mark")));
    EXPECT_THAT(notes, testing::HasSubstr(words));
    EXPECT_THAT(notes, testing::Not(testing::HasSubstr("ProfilerStep")));
    EXPECT_THAT(notes, testing::Not(testing::HasSubstr("torch.profiler")));
  }
}

}  // namespace
}  // namespace headroom::trace
