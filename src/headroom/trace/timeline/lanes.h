// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/timeline/timeline.h"

namespace headroom::trace {

/// An event of a track, before it is known which of them are slices of their own.
struct LaneEvent {
  std::int64_t start_ns = 0, duration_ns = 0;
  std::uint32_t name = 0;
  std::uint32_t row = kNone;  ///< of Trace::events; kNone: made of several, or of none
};

/// By start, what encloses before what it encloses.
void sort_lane_events(std::vector<LaneEvent>& events);

/// The events of a thread by depth: each stands below those that are open when it starts. `events` are
/// sorted. What is deeper than kMostLanes is in the last.
std::vector<std::vector<LaneEvent>> nested_lanes(const std::vector<LaneEvent>& events);

/// The events of a stream, which has one at a time: one lane, and further ones only for events that start
/// before those ahead of them have ended. `events` are sorted.
std::vector<std::vector<LaneEvent>> side_by_side_lanes(const std::vector<LaneEvent>& events);

}  // namespace headroom::trace
