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
inline constexpr double kLeastStraggler = 0.01;

/// What is known of one rank of a job.
struct RankRecord {
  std::span<const CollectiveCall> calls;  ///< matched ones and others
  Span recorded;                          ///< its steps; without steps its device work; on its clock
};

/// How the ranks of a job hold each other up. A rank is late by its own work: from the end of its last
/// collective to the start of the next, compared with the ranks that it meets there. Times are of the whole
/// job, ns.
struct Lateness {
  /// By rank: how much sooner the last collective would have ended had its own work taken as long as its
  /// peers' (their median) where it took longer. A rank that only hands on a wait costs nothing.
  std::vector<double> cost_ns;
  double total_ns = 0;                        ///< the same had no rank's own work taken longer
  std::vector<double> waited_ns;              ///< by rank: waits in collectives that no computing hides
  std::vector<std::int64_t> collectives;      ///< by rank: matched ones
  std::vector<std::int64_t> last;             ///< by rank: collectives to which its own work made it last
  std::vector<std::int64_t> worst_iteration;  ///< by rank: where it is late most; -1: nowhere, or no steps
  /// By how much the starts of the recordings differ, on aligned clocks. If that is more than a step, a
  /// rank's first collective shows nothing.
  double start_spread_ns = 0;
  std::size_t first_to_start = 0, last_to_start = 0;
};

/// `ranks`: the calls that `matched` points into; `offsets`: clock_offsets(matched); `step_ns`: the mean
/// step.
Lateness job_lateness(std::span<const RankRecord> ranks, std::span<const MatchedCollective> matched,
                      std::span<const double> offsets, double step_ns);

/// The collectives of the ranks of a job, and how the ranks hold each other up there.
struct JobCollectives {
  std::vector<std::vector<CollectiveCall>> calls;  ///< by rank
  CollectiveMatches matches;                       ///< of `calls`
  std::vector<double> offsets;                     ///< clock_offsets
  double steps = 1;                                ///< of the rank with most
  double step_ns = 0;                              ///< mean of the ranks'
  Lateness lateness;
};
/// Throws Error if a result has no summary.
JobCollectives job_collectives(std::span<const RankResult> ranks);

/// A sentence if the recordings began at noticeably different times, else empty.
std::string start_note(const Lateness& lateness, std::span<const RankResult> ranks, double step_ns,
                       bool has_steps);

}  // namespace headroom::trace
