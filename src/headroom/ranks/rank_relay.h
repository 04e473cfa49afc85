// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "headroom/ranks/rank_group.h"

namespace headroom {

// Under torchrun, mpirun or srun one of our programs runs per rank and starts the process of its rank. The
// program of rank 0 leads; the others connect to it (rank_meeting.h) and relay the lines of theirs. Each
// proves to the other that it has HEADROOM_RANK_TOKEN, if set, without saying it: the leader first. A rank
// tells nothing to a listener that does not. Untrusted input never ends a job.

/// Leads the job as rank 0 at `place`: waits for the other ranks and starts its own. Ignores command.ranks.
/// Nothing if `give_up` returns true. Throws RankLost naming the ranks that did not come in time, Error if
/// they cannot meet.
std::optional<RankGroup> lead_ranks(const RankPlace& place, const RankCommand& command,
                                    std::chrono::milliseconds timeout,
                                    const std::function<bool()>& give_up = {});

/// Runs the process of another rank until the leader ends it; false if `give_up` returns true before. Throws
/// RankLost if the process ends early (the leader knows), Error if the leader is absent or unreachable for
/// `timeout`, is killed, or if another program listens in its place.
bool follow_leader(const RankPlace& place, const RankCommand& command, std::chrono::milliseconds timeout,
                   const std::function<bool()>& give_up = {});

}  // namespace headroom
