// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/critical_path/critical_path_graph.h"

namespace headroom::trace {

/// A Chrome trace of the window with the path marked, for ui.perfetto.dev: every event that the graph knows
/// on its own track (args.critical says whether it is on the path), a process "critical path" with one slice
/// for each weighed edge, named by class, and arrows where the path goes from one track to another. Times in
/// µs with three decimals.
std::string critical_path_overlay(const Trace& trace, const PathGraph& graph, const CriticalPath& path);

}  // namespace headroom::trace
