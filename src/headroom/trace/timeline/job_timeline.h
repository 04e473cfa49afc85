// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/trace/merge/rank_clocks.h"
#include "headroom/trace/timeline/timeline.h"

namespace headroom::trace {

/// The timelines of the ranks of a job, one under the other on one clock.
struct JobTimeline {
  std::int64_t start_ns = 0, end_ns = 0;  ///< of all ranks, on that clock
  std::vector<TimelineName> names;        ///< of the slices of all ranks, which name each other's no more
  std::vector<RankTimeline> ranks;  ///< by rank, `names` empty, `offset_ns` to be taken from their times
  std::vector<std::string> notes;   ///< what was assumed, a sentence each
};

/// `ranks` are in the order in which their clocks were given to job_clocks. Ranks that are at no time
/// together on these clocks are drawn from their own starts, which a note says. Names are held to
/// `name_bytes` together: where they are more, the longest lose their middles.
JobTimeline job_timeline(std::vector<RankTimeline> ranks, const JobClocks& clocks,
                         std::size_t name_bytes = std::size_t{4} << 20);

}  // namespace headroom::trace
