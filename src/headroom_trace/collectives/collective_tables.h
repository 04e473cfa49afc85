// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

/// One rank's calls by group, collective, dtype and size, longest total first. Bandwidths of the shortest
/// call.
DataTable kinds_of_calls(const std::vector<CollectiveCall>& calls);

/// Returns the calls stored in the result of one rank. Throws Error if there are none.
std::vector<CollectiveCall> stored_calls(const AnalysisResult& result);

/// Matched collectives by group, collective, dtype and size: latencies, skews (as the clocks are, and with
/// `offsets` taken from them), bandwidths at the median latency.
DataTable kinds_of_matches(std::span<const MatchedCollective> matched, std::span<const double> offsets);
/// Each matched collective, the largest aligned skew first.
DataTable skew_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks);
/// How long each rank waited for others, and how often others waited for it.
DataTable rank_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks);
DataTable unmatched_table(std::span<const UnmatchedCall> unmatched, std::span<const RankResult> ranks);
/// Start and wait of every rank in every matched collective; for scripts only.
DataTable wait_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks);
/// Total latency, total and median skew (aligned), and the median bus bandwidth of each collective.
std::vector<Headline> match_headlines(std::span<const MatchedCollective> matched,
                                      std::span<const double> offsets);

}  // namespace headroom::trace
