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

struct Part {
  std::size_t rank = 0;  ///< index among the given ranks
  const CollectiveCall* call = nullptr;
};

/// At least two parts, in rank order.
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
  std::vector<std::string> groups_by_time;  ///< because indices disagree
};

/// Matches calls by process group and index: on every rank of the group, of one collective (and size, for an
/// all-reduce), overlapping on corrected clocks (clock_offsets). A group with shifted indices is matched by
/// step and place if all common steps agree, else by time (in order, overlapping on uncorrected clocks) if
/// that explains more.
CollectiveMatches match_collectives(std::span<const std::vector<CollectiveCall>> ranks);

/// `offsets` are subtracted from the clocks (empty: uncorrected).
struct Arrival {
  std::size_t last_rank = 0;
  double skew_ns = 0;            ///< latest minus earliest start: the longest wait
  std::vector<double> waits_ns;  ///< by part: latest start minus own start
};
Arrival arrival_of(const MatchedCollective& collective, std::span<const double> offsets);

/// Shortest time of any rank: the last to arrive does not wait.
std::int64_t latency_ns(const MatchedCollective& collective);

/// One rank's calls by group, collective, dtype and size, longest total first. Bandwidths are of the shortest
/// call.
DataTable kinds_of_calls(const std::vector<CollectiveCall>& calls);

/// By group, collective, dtype and size; skews raw and corrected by `offsets`, bandwidths at the median
/// latency.
DataTable kinds_of_matches(std::span<const MatchedCollective> matched, std::span<const double> offsets);
/// By aligned skew, largest first.
DataTable skew_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks);
/// `last`: by rank, how often others waited for it.
DataTable rank_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const std::int64_t> last, std::span<const RankResult> ranks);
DataTable unmatched_table(std::span<const UnmatchedCall> unmatched, std::span<const RankResult> ranks);
/// For scripts only.
DataTable wait_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks);
std::vector<Headline> match_headlines(std::span<const MatchedCollective> matched,
                                      std::span<const double> offsets);

struct MatchedCollective;

/// Clock leads by rank, ns, over the median of connected ranks; 0 without matched collectives. Fits the
/// median differences of ends, as all parts of a collective end almost together. A rank that always starts
/// late keeps its lateness.
std::vector<double> clock_offsets(std::size_t ranks, std::span<const MatchedCollective> matched);

}  // namespace headroom::trace
