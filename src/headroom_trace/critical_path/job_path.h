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

struct PathStretch {
  std::int64_t from_ns = 0, to_ns = 0;
  PathClass kind = PathClass::kHost;
};

/// One rank's path on its own clock.
struct RankPath {
  std::int64_t start_ns = 0, end_ns = 0;
  std::vector<PathStretch> stretches;  ///< neighbours differ in class
};

/// The links must not be empty.
RankPath rank_path(std::span<const PathLink> links);

struct JobStretch {
  std::size_t rank = 0;                 ///< index in `ranks`
  std::int64_t from_ns = 0, to_ns = 0;  ///< on the aligned clock
  /// The collective in which the next rank waited for this one; nullptr at the end.
  const MatchedCollective* until = nullptr;
  /// The rank's own path by class; last: outside of that path.
  std::array<std::int64_t, kPathClasses + 1> class_ns{};
};

/// The job's path backwards from the end of the last rank: along a rank to the latest collective in which it
/// waited, then along the rank that arrived last. Skips a wait if the rank's own path was in other work when
/// the collective ended. In order of time; empty if no rank has a window. Points into `matched`.
std::vector<JobStretch> job_path(std::span<const RankPath> ranks, std::span<const MatchedCollective> matched,
                                 std::span<const double> offsets);

/// In order; if there are more than `top` (0: all), the longest.
DataTable job_path_table(std::span<const JobStretch> path, std::span<const RankResult> ranks,
                         std::size_t top);
/// By rank and class, longest first.
DataTable job_class_table(std::span<const JobStretch> path, std::span<const RankResult> ranks);
/// The path must not be empty.
std::string job_path_sentence(std::span<const JobStretch> path, std::span<const RankResult> ranks);
std::int64_t length_ns(std::span<const JobStretch> path);

}  // namespace headroom::trace
