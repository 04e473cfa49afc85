// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/collectives/collective_matching.h"
#include "headroom/trace/columns/spans.h"
#include "headroom/trace/critical_path/critical_path_graph.h"

namespace headroom::trace {

/// Where the critical path of a rank was for some time.
struct PathStretch {
  std::int64_t from_ns = 0, to_ns = 0;
  PathClass kind = PathClass::kCpu;
};

/// The critical path of one rank in its window (a step), as the time went by on its clock.
struct RankPath {
  std::int64_t start_ns = 0, end_ns = 0;  ///< of the window, and of the path where that ends later
  std::vector<PathStretch> stretches;     ///< in order, none within another
};

/// The path by time. Where it spends time without work, or has ended, and the device computes (`computing`),
/// that is what it does: a trace without cuda_sync events does not say that a stream waits for another, so
/// that the longest chain of one rank may end at a collective.
RankPath rank_path(const PathGraph& graph, const CriticalPath& path, Span window, const Spans& computing);

/// A time that the job's path spends on one rank.
struct JobStretch {
  std::size_t rank = 0;                 ///< index of the rank among those given
  std::int64_t from_ns = 0, to_ns = 0;  ///< on the aligned clock
  /// The collective for which the ranks after this one waited for it; nullptr at the end of the path.
  const MatchedCollective* until = nullptr;
  /// How long the rank's own path was in each class; last: outside of it, before its start or after its end.
  std::array<std::int64_t, kPathClasses + 1> class_ns{};
};

/// The path of a job, backwards from where its last rank ends: along a rank to the latest collective that
/// this rank waited in for another one, from there along the rank that came last, from when it came. A wait
/// that the rank's own path was not held up by, for it was with other work at the time that the last rank
/// came, is passed over. Clocks are aligned by `offsets`. In order of time; empty where no rank has a window.
/// The pointers are to `matched`.
std::vector<JobStretch> job_path(std::span<const RankPath> ranks, std::span<const MatchedCollective> matched,
                                 std::span<const double> offsets);

}  // namespace headroom::trace
