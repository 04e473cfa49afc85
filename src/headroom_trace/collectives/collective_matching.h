// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

/// One rank's part of a collective.
struct Part {
  std::size_t rank = 0;  ///< index of the rank among those given
  const CollectiveCall* call = nullptr;
};

/// One collective; at least two parts, in rank order.
struct MatchedCollective {
  std::vector<Part> parts;
};

struct UnmatchedCall {
  Part part;
  const char* reason;
};

struct CollectiveMatches {
  std::vector<MatchedCollective> matched;  ///< by the start of the first part
  std::vector<UnmatchedCall> unmatched;
  std::vector<std::string> groups_by_time;  ///< groups matched by time, because their indices disagree
};

/// Matches the calls of the ranks by process group and index in the group. A match needs the index on every
/// rank of the group, the same collective (and size, for an all-reduce), and kernels that overlap in time
/// once the clocks are corrected (clock_offsets). A trace that leaves collectives out shifts the indices:
/// such a group is matched by step and place in the step if all common steps agree, else by time (in order,
/// overlapping on the uncorrected clocks) if that explains more. The rest is unmatched, with the reason.
CollectiveMatches match_collectives(std::span<const std::vector<CollectiveCall>> ranks);

/// Arrivals at one collective, with `offset` subtracted from each rank's clock (empty: clocks as they are).
struct Arrival {
  std::size_t last_rank = 0;     ///< the rank that started last
  double skew_ns = 0;            ///< latest start - earliest start: the longest wait
  std::vector<double> waits_ns;  ///< by part: latest start - own start
};
Arrival arrival_of(const MatchedCollective& collective, std::span<const double> offsets);

/// Returns the shortest time of any rank in it: that of the last to arrive, which does not wait.
std::int64_t latency_ns(const MatchedCollective& collective);

/// One rank's calls by group, collective, dtype and size, longest total first. Bandwidths of the shortest
/// call.
DataTable kinds_of_calls(const std::vector<CollectiveCall>& calls);

/// Matched collectives by group, collective, dtype and size: latencies, skews (as the clocks are, and with
/// `offsets` taken from them), bandwidths at the median latency.
DataTable kinds_of_matches(std::span<const MatchedCollective> matched, std::span<const double> offsets);
/// Each matched collective, the largest aligned skew first.
DataTable skew_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks);
/// How long each rank waited for others. `last`: by rank, how often others waited for it.
DataTable rank_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const std::int64_t> last, std::span<const RankResult> ranks);
DataTable unmatched_table(std::span<const UnmatchedCall> unmatched, std::span<const RankResult> ranks);
/// Start and wait of every rank in every matched collective; for scripts only.
DataTable wait_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks);
/// Total latency, total and median skew (aligned), and the median bus bandwidth of each collective.
std::vector<Headline> match_headlines(std::span<const MatchedCollective> matched,
                                      std::span<const double> offsets);

}  // namespace headroom::trace
