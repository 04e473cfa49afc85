// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/schedule/plan.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// The limit cases that could bound a prepared case, each from the first runner that offers it for its
/// device: reads, writes and copies of the same working set, as cold or hot, in every access pattern, by as
/// many threads (and by one, where the data are hot and fit the caches of one core), the peak of its dtype,
/// and the ping-pong latency that tells where the threads lie. In a job of ranks these are by the threads of
/// all ranks on the machine of the first, and exchanges between the ranks are among them.
std::vector<LimitTrack> limit_candidates(const std::vector<RunnerOffer>& offers, const Track& bounded);

/// Keeps, by the calibrated times, the candidates that may still turn out to be the limit: patterns within 15
/// % of the best of their resource, the peak where its floor is at least an eighth of that of memory (and
/// always where `needs_peak`), and memory and exchanges where their floor is at least a fiftieth of that of
/// what binds.
void drop_loose_candidates(std::vector<LimitTrack>& limits, const Work& work, bool needs_peak);

/// Whether the limits of one are those of the other: of the same device, and as many ranks.
bool share_limits(const Track& one, const Track& other);
/// The limits that bound this case.
std::vector<LimitTrack> limits_of(const Track& bounded, const std::vector<LimitTrack>& limits);

}  // namespace headroom
