// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "headroom/trace/collectives/collective_calls.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/timeline/timeline.h"

namespace headroom::trace {

/// What a trace is read with for all of its timeline, and of the modules of its operators. What was left out
/// is not drawn.
inline constexpr Needs kTimelineNeeds = Needs::kLaunches | Needs::kOps | Needs::kOpArguments |
                                        Needs::kPython | Needs::kSyncs | Needs::kMemory | Needs::kOthers;

/// The timeline of one rank: every event with a duration is in a slice of one track, the steps and the
/// collectives once more in tracks of their own. `calls` is collective_calls(trace). O(n log n).
RankTimeline rank_timeline(const Trace& trace, std::span<const CollectiveCall> calls,
                           const TimelineLimits& limits = {});

}  // namespace headroom::trace
