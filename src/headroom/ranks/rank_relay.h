// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "headroom/ranks/rank_group.h"

namespace headroom {

// Under torchrun, mpirun or srun one of our programs runs per rank and starts its rank's process. Rank 0's
// leads; the others connect to it (rank_rendezvous.h) and relay lines. Both sides prove that they know
// HEADROOM_RANK_TOKEN, the leader first. Untrusted input never ends a job.

/// Also starts its own rank. Ignores command.ranks. Nothing if `give_up` returns true. Throws RankLost naming
/// late ranks, Error if they cannot meet.
std::optional<RankGroup> lead_ranks(const RankPlace& place, const RankCommand& command,
                                    std::chrono::milliseconds timeout,
                                    const std::function<bool()>& give_up = {});

/// Runs a rank's process until the leader ends it; false if `give_up` returns true before. Throws RankLost if
/// the process ends early, Error if the leader is unreachable for `timeout`, ends, or is another program.
bool follow_leader(const RankPlace& place, const RankCommand& command, std::chrono::milliseconds timeout,
                   const std::function<bool()>& give_up = {});

}  // namespace headroom
