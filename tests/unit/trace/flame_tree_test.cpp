// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/flame_tree.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "headroom/trace/timeline/rank_timeline.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// "path host/device xcalls", a path with > between.
std::vector<std::string> nodes_of(const FlameTree& tree) {
  std::vector<std::string> paths, texts;
  for (const FlameNode& node : tree.nodes) {
    paths.push_back((node.parent == kNone ? "" : paths.at(node.parent) + " > ") + tree.names.at(node.name));
    texts.push_back(paths.back() + " " + std::to_string(node.host_ns) + "/" + std::to_string(node.device_ns) +
                    " x" + std::to_string(node.calls));
  }
  return texts;
}

TEST(FlameTree, CallsAreSummedByWhatTheyWereCalledFrom) {
  TraceBuilder builder;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = 1000 * step;
    builder.step(step, at, 900);
    builder.op("aten::linear", at + 100, 400);
    builder.op("aten::addmm", at + 200, 250);
    builder.runtime("cudaLaunchKernel", at + 300, 20, step + 1);
    builder.op("aten::addmm", at + 600, 40);
    builder.kernel("gemm", at + 500, 200, step + 1);
  }
  builder.event(Category::kPython, "<built-in method copy_ of Tensor object at 0x7fd0>", 0, 5, 0,
                kNoCorrelation);
  builder.trace.events.thread.back() = builder.thread("1000", "2");
  builder.event(Category::kPython, "<built-in method copy_ of Tensor object at 0x8000>", 10, 7,
                builder.thread("1000", "2"));
  builder.event(Category::kOther, "PyTorch Profiler (0)", 0, 5000, builder.thread("1000", "1"));
  builder.kernel("of an earlier launch", 0, 30);
  const RankTimeline timeline = rank_timeline(builder.trace, {});
  EXPECT_THAT(nodes_of(timeline.stacks),
              testing::UnorderedElementsAre(
                  "ProfilerStep 1800/400 x2", "ProfilerStep > aten::linear 800/400 x2",
                  "ProfilerStep > aten::linear > aten::addmm 500/400 x2",
                  "ProfilerStep > aten::linear > aten::addmm > cudaLaunchKernel 40/400 x2",
                  "ProfilerStep > aten::addmm 80/0 x2", "<built-in method copy_ of Tensor object> 12/0 x2"));
  EXPECT_EQ(timeline.stacks.elsewhere_ns, 30);
  EXPECT_EQ(timeline.stacks.left_out, 0U);
  EXPECT_THAT(timeline.modules.nodes, IsEmpty());
}

TEST(FlameTree, WhatGoesOnAfterAFunctionIsNotInIt) {
  TraceBuilder builder;
  const std::uint32_t host = builder.thread(TraceBuilder::kHostPid, "1");
  builder.event(Category::kPython, "main", 0, 1000, host);
  builder.event(Category::kPython, "profiler.step", 100, 20, host);
  builder.step(1, 110, 800);  // begins in the function, and outlives it
  builder.op("aten::mm", 200, 50);
  builder.runtime("cudaLaunchKernel", 220, 35, 1);  // ends after its operator, by another clock
  builder.kernel("gemm", 300, 80, 1);
  EXPECT_THAT(nodes_of(rank_timeline(builder.trace, {}).stacks),
              testing::UnorderedElementsAre("main 1000/80 x1", "main > profiler.step 20/0 x1",
                                            "main > ProfilerStep 800/80 x1",
                                            "main > ProfilerStep > aten::mm 50/80 x1",
                                            "main > ProfilerStep > aten::mm > cudaLaunchKernel 35/80 x1"));
}

TEST(FlameTree, ModulesHaveTheTimesOfTheAnalysis) {
  TraceBuilder builder;
  const std::uint32_t host = builder.thread(TraceBuilder::kHostPid, "1");
  builder.event(Category::kPython, "train.py(3): main", 0, 1000, host);
  builder.event(Category::kPython, "nn.Module: Net_0", 100, 500, host);
  builder.event(Category::kPython, "nn.Module: Linear_0", 200, 100, host);
  builder.op("aten::addmm", 210, 50);
  builder.runtime("cudaLaunchKernel", 220, 20, 1);
  builder.kernel("gemm", 300, 80, 1);
  builder.kernel("of no launch", 500, 7);
  const FlameTree modules = rank_timeline(builder.trace, {}).modules;
  EXPECT_THAT(nodes_of(modules), ElementsAre("Net_0 500/80 x1", "Net_0 > Linear_0 100/80 x1"));
  EXPECT_EQ(modules.elsewhere_ns, 7);
}

TEST(FlameTree, OfTooManyNodesThoseWithTheMostTimeStayInTheirPlaces) {
  TraceBuilder builder;
  std::int64_t at = 0;
  for (int i = 0; i < 100; ++i) {
    builder.op("outer" + std::to_string(i), at, 10 + i);
    builder.op("inner", at, 9 + i);
    at += 1000;
  }
  TimelineLimits limits;
  limits.flame_nodes = 5;
  const FlameTree tree = rank_timeline(builder.trace, {}, limits).stacks;
  EXPECT_EQ(tree.left_out, 195U);
  EXPECT_THAT(nodes_of(tree), ElementsAre("outer97 107/0 x1", "outer98 108/0 x1", "outer98 > inner 107/0 x1",
                                          "outer99 109/0 x1", "outer99 > inner 108/0 x1"));
}

TEST(FlameTree, EndlessNestsEnd) {
  TraceBuilder builder;
  for (int depth = 0; depth < 5000; ++depth) builder.op("f", depth, 20'000 - 2 * depth);
  TimelineLimits limits;
  limits.flame_nodes = 10'000;
  EXPECT_EQ(rank_timeline(builder.trace, {}, limits).stacks.nodes.size(), 1000U);
}

}  // namespace
}  // namespace headroom::trace
