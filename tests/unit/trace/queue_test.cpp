// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "headroom/base/error.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/work/queue_length.h"
#include "result_view.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Launches at `launched` (10 ns long), and starts its kernel at `started`.
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
  launch(builder, 2, 100, 200);  // launched as the first starts: the length stays 1
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
  EXPECT_TRUE(view.notes("1 of 2 pieces of GPU work have no launch"));
}

TEST(Queue, TracesWithoutGpuWork) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 10, 1);
  const ResultView view = view_analysis("queue", builder.trace, option("series"));
  EXPECT_TRUE(view.result.tables.empty());
  EXPECT_TRUE(view.notes("no kernel, copy or set"));
  EXPECT_TRUE(view.result.headlines.empty());
}

}  // namespace
}  // namespace headroom::trace
