// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/collectives/rank_waits.h"

#include <algorithm>

#include "headroom/stats/quantile.h"

namespace headroom::trace {

RankWaits rank_waits(std::size_t ranks, std::span<const MatchedCollective> matched,
                     std::span<const double> offsets) {
  RankWaits waits;
  waits.imposed_ns.resize(ranks);
  waits.waited_ns.resize(ranks);
  waits.last.resize(ranks);
  for (const MatchedCollective& collective : matched) {
    const Arrival arrival = arrival_of(collective, offsets);
    if (arrival.skew_ns > 0) ++waits.last[arrival.last_rank];
    std::vector<double> open;  // the waits that nothing hides, of all but the last
    for (std::size_t i = 0; i < collective.parts.size(); ++i) {
      const Part& part = collective.parts[i];
      if (part.rank == arrival.last_rank) continue;
      const double wait = std::min(arrival.waits_ns[i], static_cast<double>(part.call->exposed_ns));
      waits.waited_ns[part.rank] += wait;
      open.push_back(wait);
    }
    if (open.empty()) continue;
    // Had the last come with the one before it, all would have waited less by what that one waited.
    const double imposed = *std::ranges::min_element(open);
    waits.imposed_ns[arrival.last_rank] += imposed;
    std::vector<double>& by_rank = waits.imposed_by_iteration[collective.parts.front().call->iteration];
    by_rank.resize(ranks);
    by_rank[arrival.last_rank] += imposed;
    open.push_back(0);
    waits.joint_ns += std::max(0.0, median(open) - imposed);
  }
  return waits;
}

}  // namespace headroom::trace
