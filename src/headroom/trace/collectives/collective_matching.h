// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headroom/trace/collectives/collective_calls.h"

namespace headroom::trace {

/// One rank's part of a collective.
struct Part {
  std::size_t rank = 0;  ///< index of the rank among those given
  const CollectiveCall* call = nullptr;
};

/// One collective as the ranks saw it; at least two parts, in the order of the ranks.
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
  std::vector<std::string> groups_by_time;  ///< groups whose indices do not agree: matched by time
};

/// Pairs the calls of the ranks by process group and index in the group. A pairing stands when every rank
/// that has the group has the index, all say the same collective (and, of an all-reduce, the same size), and
/// their kernels ran at one time, each rank's clock corrected (clock_offsets). Where a trace leaves
/// collectives out the indices shift: a group of which pairing by time (in order, overlapping on the clocks
/// as they are) explains more is paired so. What pairs in neither way is unmatched, with the reason.
CollectiveMatches match_collectives(std::span<const std::vector<CollectiveCall>> ranks);

/// By rank: how far its clock is ahead, ns. The parts of a collective end at about the same moment whoever
/// came last, so it is the median over collectives of its end minus the median end; a rank that is always
/// late to start keeps its lateness. 0 for a rank without matched collectives.
std::vector<double> clock_offsets(std::size_t ranks, std::span<const MatchedCollective> matched);

/// Who came when to one collective, with `offset` taken from each rank's clock (empty: as they are).
struct Arrival {
  std::size_t last_rank = 0;     ///< the rank that started last
  double skew_ns = 0;            ///< latest start - earliest start: the longest wait
  std::vector<double> waits_ns;  ///< by part: latest start - own start
};
Arrival arrival_of(const MatchedCollective& collective, std::span<const double> offsets);

/// The shortest time of any rank in it: that of the last to come, who waited for nobody.
std::int64_t latency_ns(const MatchedCollective& collective);

}  // namespace headroom::trace
