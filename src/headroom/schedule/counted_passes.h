// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/schedule/plan.h"
#include "headroom/schedule/track.h"
#include "headroom/schedule/worker.h"

namespace headroom {

/// Those of `cases` of whose work on the host the hardware shall count something now: sampled since
/// `first_round`, by a runner that can.
std::vector<Track*> countable(std::vector<Track>& cases, const std::vector<RunnerOffer>& offers,
                              std::uint32_t first_round);

/// Has one in ten of the samples since `first_round` again, one at least and five at most, counted in place
/// of timed. Passes of their own, when all samples of the process are taken: no counter is open while the
/// clock runs. Ends at the first that cannot be counted, and notes why. Throws what `worker` does.
void count_passes(Track& track, Worker& worker, std::uint32_t epoch, std::uint32_t first_round);

}  // namespace headroom
