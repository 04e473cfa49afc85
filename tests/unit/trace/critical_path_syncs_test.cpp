// SPDX-License-Identifier: Apache-2.0
// What waits for what: calls for work, streams for events.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "critical_path_view.h"

namespace headroom::trace {
namespace {

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
  const PathGraph graph = critical_path_graph(waiting.builder.trace, kAnyTime);
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
    EXPECT_TRUE(critical_path_graph(waiting.builder.trace, kAnyTime).syncs_are_inferred);
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
  const PathGraph graph = critical_path_graph(builder.trace, kAnyTime);
  EXPECT_EQ(graph.edges_left_out, 1U);
  expect_sound(graph);
}

TEST(CriticalPathSyncs, ASyncWithoutItsCallIsCounted) {
  TraceBuilder builder;
  builder.op("op", 0, 10);
  builder.sync("Stream Sync", 5, 1, 99, 0, 7);
  const PathGraph graph = critical_path_graph(builder.trace, kAnyTime);
  EXPECT_EQ(graph.syncs, 1U);
  EXPECT_EQ(graph.syncs_unmatched, 1U);
}

}  // namespace
}  // namespace headroom::trace
