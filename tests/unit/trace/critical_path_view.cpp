// SPDX-License-Identifier: Apache-2.0
#include "critical_path_view.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headroom::trace {

Times by_class(const CriticalPath& path) {
  Times times;
  for (const PathEdge& edge : path.edges) times[to_string(edge.kind)] += edge.weight_ns;
  return times;
}

CriticalPath path_of(const TraceBuilder& builder, Span window) {
  return critical_path(critical_path_graph(builder.trace, window));
}

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
  const CriticalPath path = critical_path(graph);
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

Waiting::Waiting(const char* call, std::int64_t stream) {
  builder.runtime("cudaLaunchKernel", 0, 10, 1);
  builder.kernel("gemm", 20, 1000, 1, 0, stream);
  builder.runtime(call, 100, 1000, 2);
  builder.op("after", 1200, 50);
}

}  // namespace headroom::trace
