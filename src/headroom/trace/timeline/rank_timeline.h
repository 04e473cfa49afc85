// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "headroom/trace/collectives/collective_calls.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/timeline/timeline.h"

namespace headroom::trace {

/// What a trace is read with for all of its timeline. What was left out is not drawn.
inline constexpr Needs kTimelineNeeds =
    Needs::kLaunches | Needs::kOpEvents | Needs::kPython | Needs::kSyncs | Needs::kMemory | Needs::kOthers;
/// What its modules want beside: without it those are not known of traces that have call stacks, and what
/// autograd launches is in none. It takes as much time and memory as all the rest.
inline constexpr Needs kModuleNeeds = Needs::kOps | Needs::kOpArguments;

/// The timeline of one rank: every event with a duration is in a slice of one track, the steps and the
/// collectives once more in tracks of their own. `calls` is collective_calls(trace). O(n log n).
RankTimeline rank_timeline(const Trace& trace, std::span<const CollectiveCall> calls,
                           const TimelineLimits& limits = {});

}  // namespace headroom::trace
