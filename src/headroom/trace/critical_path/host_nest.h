// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/critical_path/critical_path_graph.h"

namespace headroom::trace {

struct HostNode {
  PathNode node = 0;
  std::int64_t at_ns = 0;
};

/// The operators and runtime calls of the host threads as a graph: along each thread, from every start and
/// end to the next.
struct HostNest {
  std::vector<HostNode> nodes;  ///< thread by thread, in time; an event that outlives its parent is cut to it
  std::vector<PathEdge> edges;
};

/// True for operators, calls of the runtime and the driver, and DataLoader annotations; false for the steps
/// of the profiler.
bool is_in_host_nest(const Trace& trace, std::uint32_t event);

/// What starts within the window. Time inside a top-level event goes to the innermost event that is open:
/// cpu, data loading inside a DataLoader event, none inside a call that is marked `waiting` (by event). From
/// one top-level event to the next of the thread leads an edge without weight, and so it does between threads
/// that call the device and take turns (the main thread and autograd's). O(n log n).
HostNest host_nest(const Trace& trace, Span window, const std::vector<bool>& waiting);

}  // namespace headroom::trace
