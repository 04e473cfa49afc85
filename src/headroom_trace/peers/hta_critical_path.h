// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// The start (2 * row) or end (2 * row + 1) of an event.
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

/// Edges from kBetweenOps on have no weight.
enum class HtaPathClass : std::uint8_t {
  kCpu,
  kDataLoading,  ///< the same inside a DataLoader
  kGpuCompute,
  kGpuCommunication,
  kKernelKernel,  ///< from the end of a kernel to the next one queued
  kLaunch,        ///< from a launch to the start of its work on an idle stream
  kBetweenOps,    ///< between top-level operators of a thread
  kWaiting,
  kSync  ///< from a kernel to its waiter; from a launch to its work
};
inline constexpr std::size_t kHtaPathClasses = 9;
const char* to_string(HtaPathClass kind);

struct PathEdge {
  PathNode from = 0, to = 0;
  std::uint32_t event = 0;  ///< that spends the time
  HtaPathClass kind = HtaPathClass::kCpu;
  /// At most the time between the nodes; negative only if clocks differ.
  std::int64_t weight_ns = 0;
};

/// Acyclic: nodes are ordered by host time (GPU work by its launch); edges against that order are dropped and
/// counted.
struct PathGraph {
  std::vector<std::int64_t> at_ns;  ///< by node; events are cut to their parent
  std::vector<PathNode> order;      ///< topological order
  std::vector<PathEdge> edges;      ///< by place of `from` in the order
  std::uint64_t edges_left_out = 0;
  std::uint64_t syncs = 0, syncs_unmatched = 0;  ///< cuda_sync events in the window
  bool syncs_are_inferred = false;               ///< from call names, without cuda_sync events
};

/// Host events that start within the window and GPU work launched there (without a known launch, started
/// there). As Holistic Trace Analysis ("Lightweight critical path analysis"), for every launch, with waits
/// inferred from call names. Needs kLaunches, kOps and kSyncs. O(n log n).
PathGraph hta_path_graph(const Trace& trace, Span window);

struct CriticalPath {
  std::vector<PathEdge> edges;  ///< in order
  std::int64_t length_ns = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};
CriticalPath hta_critical_path(const PathGraph& graph);

}  // namespace headroom::trace
