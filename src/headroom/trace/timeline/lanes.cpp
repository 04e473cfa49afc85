// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/lanes.h"

#include <algorithm>

#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

/// What runs at once on a stream is little; the look for a free lane goes over all of them.
constexpr std::size_t kMostSideBySide = 16;
static_assert(kMostSideBySide <= kMostLanes);

bool stands_before(const LaneEvent& a, const LaneEvent& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
}

std::int64_t end_of(const LaneEvent& event) {
  return saturating_add(event.start_ns, event.duration_ns);
}

void put(std::vector<std::vector<LaneEvent>>& lanes, std::size_t depth, const LaneEvent& event) {
  if (lanes.size() <= depth) lanes.resize(depth + 1);
  lanes[depth].push_back(event);
}

}  // namespace

void sort_lane_events(std::vector<LaneEvent>& events) {
  // Most threads and streams are written in order.
  if (!std::ranges::is_sorted(events, stands_before)) std::ranges::stable_sort(events, stands_before);
}

std::vector<std::vector<LaneEvent>> nested_lanes(const std::vector<LaneEvent>& events) {
  std::vector<std::vector<LaneEvent>> lanes;
  std::vector<std::int64_t> open;  ///< ends, by depth
  for (const LaneEvent& event : events) {
    while (!open.empty() && open.back() <= event.start_ns) open.pop_back();
    put(lanes, std::min(open.size(), kMostLanes - 1), event);
    open.push_back(end_of(event));
  }
  return lanes;
}

std::vector<std::vector<LaneEvent>> side_by_side_lanes(const std::vector<LaneEvent>& events) {
  std::vector<std::vector<LaneEvent>> lanes;
  std::vector<std::int64_t> ends;
  for (const LaneEvent& event : events) {
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > event.start_ns) ++lane;
    lane = std::min(lane, kMostSideBySide - 1);
    put(lanes, lane, event);
    if (ends.size() <= lane) ends.push_back(end_of(event));
    ends[lane] = std::max(ends[lane], end_of(event));
  }
  return lanes;
}

}  // namespace headroom::trace
