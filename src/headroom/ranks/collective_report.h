// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "headroom/base/json.h"
#include "headroom/ranks/collective_ring.h"

namespace headroom {

/// The collectives of ranks, by rank.
using RankHistories = std::map<int, CollectiveHistory>;

/// Which ranks wait in which collective, and who of its group did not arrive, in one sentence for each
/// collective that is under way: "ranks 0, 1 wait since 5.20 s in all_reduce 57 of 'world' (1024 f32); rank 2
/// did not arrive: its last was broadcast 56, completed 5.30 s ago". Ranks that call different things at the
/// same place are named too. Empty where nobody waits.
std::string waiting_text(const RankHistories& histories);

/// A table of the last `count` collectives of each rank, times as seconds ago. Empty where there are none.
std::string collectives_text(const RankHistories& histories, std::size_t count);

/// For a rank whose ring is in another process. Ages survive, clocks do not.
Json to_json(const CollectiveHistory& history);
CollectiveHistory collective_history_from_json(const Json& json);

}  // namespace headroom
