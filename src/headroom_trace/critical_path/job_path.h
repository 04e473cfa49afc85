// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/critical_path/critical_path.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

/// A stretch of a rank's critical path.
struct PathStretch {
  std::int64_t from_ns = 0, to_ns = 0;
  PathClass kind = PathClass::kHost;
};

/// The critical path of one rank, by time on its clock.
struct RankPath {
  std::int64_t start_ns = 0, end_ns = 0;
  std::vector<PathStretch> stretches;  ///< from start to end, neighbours of different classes
};

/// Returns the path by class. The links must not be empty.
RankPath rank_path(std::span<const PathLink> links);

/// A stretch of the job's path on one rank.
struct JobStretch {
  std::size_t rank = 0;                 ///< index of the rank among those given
  std::int64_t from_ns = 0, to_ns = 0;  ///< on the aligned clock
  /// The collective that the following rank waited in for this one; nullptr at the end of the path.
  const MatchedCollective* until = nullptr;
  /// Time of the rank's own path by class; last: outside of it, before its start or after its end.
  std::array<std::int64_t, kPathClasses + 1> class_ns{};
};

/// Finds the path of a job, backwards from the end of its last rank: along a rank to the latest collective in
/// which it waited for another, from there along the rank that arrived last, from its arrival. A wait is
/// skipped if the rank's own path was with other work when the collective ended. Clocks are aligned by
/// `offsets`. In order of time; empty if no rank has a window. Points into `matched`.
std::vector<JobStretch> job_path(std::span<const RankPath> ranks, std::span<const MatchedCollective> matched,
                                 std::span<const double> offsets);

/// A row per stretch of the job's path, in order; with more than `top` (0: all), the longest.
DataTable job_path_table(std::span<const JobStretch> path, std::span<const RankResult> ranks,
                         std::size_t top);
/// Time of the path by rank and class, longest first.
DataTable job_class_table(std::span<const JobStretch> path, std::span<const RankResult> ranks);
/// One sentence: the length of the path and where most of it is spent. The path must not be empty.
std::string job_path_answer(std::span<const JobStretch> path, std::span<const RankResult> ranks);
std::int64_t length_ns(std::span<const JobStretch> path);

}  // namespace headroom::trace
