// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "headroom/trace/collectives/collective_matching.h"

namespace headroom::trace {

/// Who kept whom waiting in all collectives of a job, ns. Only waits that no computing hides count: a rank
/// that computes meanwhile loses nothing.
struct RankWaits {
  /// By rank: how much sooner the collectives would have begun had it come with the one before it.
  std::vector<double> imposed_ns;
  std::vector<double> waited_ns;   ///< by rank: how long it stood in collectives that others had not begun
  std::vector<std::int64_t> last;  ///< by rank: collectives that it came to after all others
  /// What remains where the ranks come apart, beyond what the last one alone imposes: against the middle one.
  double joint_ns = 0;
  /// By iteration and rank, what it imposed; iteration -1 without steps.
  std::map<std::int64_t, std::vector<double>> imposed_by_iteration;
};

/// `offsets` are clock_offsets of the same; empty: clocks as they are.
RankWaits rank_waits(std::size_t ranks, std::span<const MatchedCollective> matched,
                     std::span<const double> offsets);

}  // namespace headroom::trace
