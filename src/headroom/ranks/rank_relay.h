// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "headroom/ranks/rank_group.h"

namespace headroom {

// Under torchrun, mpirun or srun one program of ours runs for each rank, and each starts the process of its
// rank. That of rank 0 leads: the others connect to it and relay the lines of theirs. On one machine they
// meet at a socket named after the job, where no other user can come; else at MASTER_ADDR:MASTER_PORT (one
// port above it where torchrun itself listens there). Who does not know HEADROOM_RANK_TOKEN, where that is
// set, is refused, and nothing that a stranger says ends a job.

/// Leads the ranks of `place`, which is that of rank 0: waits for the others and starts its own.
/// command.ranks counts for nothing. Nothing where `give_up` says so. Throws RankLost naming the ranks that
/// did not come in time, Error where they cannot meet.
std::optional<RankGroup> lead_ranks(const RankPlace& place, const RankCommand& command,
                                    std::chrono::milliseconds timeout,
                                    const std::function<bool()>& give_up = {});

/// Runs the process of another rank for the leader until that ends it; false where `give_up` says so before.
/// Throws RankLost where the process ends before (the leader knows), Error where there is no leader within
/// the time, or it cannot be reached for so long.
bool follow_leader(const RankPlace& place, const RankCommand& command, std::chrono::milliseconds timeout,
                   const std::function<bool()>& give_up = {});

}  // namespace headroom
