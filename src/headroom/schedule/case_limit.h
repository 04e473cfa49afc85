// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/series.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// The floor of `work` in each round, in ns per iteration, by the best pattern (by median) of each resource
/// that may bind: by the fastest samples one of memory, peak and exchange may be far from the others, and is
/// left out of the maximum.
struct Floor {
  Series series;
  Series peak_flops;             ///< FLOP/s of the peak in each round; empty where it was not sampled
  std::vector<LimitPart> parts;  ///< what binds the work
};
/// Nothing where no limit was sampled.
std::optional<Floor> floor_of(const std::vector<LimitTrack>& limits, const Work& work);

/// How the readings of a case stand to the limits of its rounds.
struct CaseLimit {
  std::optional<Limit>
      share;          ///< without its value, which is that of a metric; nothing without common rounds
  Series peak_flops;  ///< as in Floor
};
/// `limits`: of all cases of the group.
CaseLimit case_limit(const Track& track, const std::vector<LimitTrack>& limits);

}  // namespace headroom
