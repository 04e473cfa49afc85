// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/columns/spans.h"

namespace headroom::trace {

/// A rank that costs less than this share of a step is not late.
inline constexpr double kMinStragglerShare = 0.01;

struct RankRecord {
  std::span<const CollectiveCall> calls;
  Span recorded;  ///< steps, else device work, on the rank's clock
};

/// A rank is late by its own work between two collectives, compared with its peers. Totals, ns.
struct Lateness {
  /// By rank: how much sooner the last collective would end if its own work never exceeded its peers' median.
  /// Passing on a wait costs nothing.
  std::vector<double> cost_ns;
  double total_ns = 0;                        ///< same, for all ranks at once
  std::vector<double> waited_ns;              ///< by rank: waits not hidden by computing
  std::vector<std::int64_t> collectives;      ///< by rank: matched
  std::vector<std::int64_t> last;             ///< by rank: collectives that it delayed by its own work
  std::vector<std::int64_t> worst_iteration;  ///< by rank: with the most lateness; -1: none
  /// Spread on aligned clocks. If larger than a step, first collectives show nothing.
  double start_spread_ns = 0;
  std::size_t first_to_start = 0, last_to_start = 0;
};

/// `matched` points into the calls of `ranks`; `offsets`: clock_offsets(matched); `step_ns`: the mean step.
Lateness job_lateness(std::span<const RankRecord> ranks, std::span<const MatchedCollective> matched,
                      std::span<const double> offsets, double step_ns);

struct JobCollectives {
  std::vector<std::vector<CollectiveCall>> calls;  ///< by rank
  CollectiveMatches matches;                       ///< of `calls`
  std::vector<double> offsets;                     ///< clock_offsets
  double steps = 1;                                ///< of the rank with most
  double step_ns = 0;                              ///< mean over the ranks
  Lateness lateness;
};
/// Throws Error if a result has no summary.
JobCollectives job_collectives(std::span<const RankResult> ranks);

/// "" if the starts agree.
std::string start_note(const Lateness& lateness, std::span<const RankResult> ranks, double step_ns,
                       bool has_steps);

}  // namespace headroom::trace
