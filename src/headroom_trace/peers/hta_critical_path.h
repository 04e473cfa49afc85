// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// The start or the end of an event: 2 * its row, plus one for the end.
using PathNode = std::uint32_t;
constexpr PathNode start_of(std::uint32_t event) {
  return 2 * event;
}
constexpr PathNode end_of(std::uint32_t event) {
  return 2 * event + 1;
}
constexpr std::uint32_t event_of(PathNode node) {
  return node / 2;
}

/// The class of an edge's time. From kBetweenOps on, edges have no weight.
enum class HtaPathClass : std::uint8_t {
  kCpu,               ///< an operator or a call of the runtime, on the host
  kDataLoading,       ///< the same inside a DataLoader
  kGpuCompute,        ///< a kernel, a copy or a set
  kGpuCommunication,  ///< a communication kernel
  kKernelKernel,      ///< from the end of a kernel to the next one queued behind it
  kLaunch,            ///< from the start of a launch to the start of its work on an idle stream
  kBetweenOps,        ///< from one top-level operator of a thread to the next: Python, or nothing at all
  kWaiting,           ///< inside a call that waits for the device
  kSync               ///< from a kernel to what waits for it; from a launch to its work
};
inline constexpr std::size_t kHtaPathClasses = 9;
const char* to_string(HtaPathClass kind);

struct PathEdge {
  PathNode from = 0, to = 0;
  std::uint32_t event = 0;  ///< what the time is spent in
  HtaPathClass kind = HtaPathClass::kCpu;
  /// At most the time between the two nodes. Negative only if the clocks of host and device put an effect
  /// before its cause.
  std::int64_t weight_ns = 0;
};

/// Dependency graph of a part of a trace: nodes for the start and end of each operator, runtime call and
/// piece of GPU work, edges for their order. Acyclic by construction: nodes are ordered by host time (GPU
/// work by its launch), and edges against that order are dropped and counted.
struct PathGraph {
  std::vector<std::int64_t> at_ns;  ///< by node; an event that outlives its parent is cut to it
  std::vector<PathNode> order;      ///< every edge goes from an earlier to a later one of these
  std::vector<PathEdge> edges;      ///< by the place of `from` in the order
  std::uint64_t edges_left_out = 0;
  std::uint64_t syncs = 0, syncs_unmatched = 0;  ///< of the trace's own cuda_sync events in the window
  bool syncs_are_inferred = false;               ///< the trace has none: by the names of the calls
};

/// Builds the graph of the events that start within the window on the host, and of the GPU work launched
/// there (or, without a known launch, started there). The rules are Holistic Trace Analysis' ("Lightweight
/// critical path analysis"), for every launch and with the waits that the names of calls tell. Needs
/// kLaunches, kOps and kSyncs. O(n log n).
PathGraph hta_path_graph(const Trace& trace, Span window);

/// A longest path through the graph.
struct CriticalPath {
  std::vector<PathEdge> edges;  ///< in order; empty where the graph has none
  std::int64_t length_ns = 0;   ///< the sum of the weights
  std::int64_t start_ns = 0, end_ns = 0;
};
CriticalPath hta_critical_path(const PathGraph& graph);

}  // namespace headroom::trace
