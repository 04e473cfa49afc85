// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/rank_timeline.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/rank_numbers.h"
#include "headroom/trace/columns/steps.h"
#include "headroom/trace/timeline/counters.h"
#include "headroom/trace/timeline/flame_tree.h"
#include "headroom/trace/timeline/lanes.h"
#include "headroom/trace/timeline/slice_budget.h"
#include "headroom/trace/timeline/track_drafts.h"

namespace headroom::trace {
namespace {

/// Of too many tracks the busiest stay; the steps always do.
void leave_tracks_out(std::vector<TrackDraft>& drafts, std::size_t most, RankTimeline& timeline) {
  if (drafts.size() <= most) return;
  std::vector<std::size_t> order(drafts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto weight = [&](std::size_t i) {
    return std::pair(drafts[i].track.kind != TrackKind::kSteps, -drafts[i].track.busy_ns);
  };
  std::ranges::stable_sort(order, {}, weight);
  for (std::size_t place = most; place < order.size(); ++place) {
    ++timeline.tracks_left_out;
    timeline.events_left_out += drafts[order[place]].track.events;
    drafts[order[place]].events.clear();
  }
  std::erase_if(drafts, [](const TrackDraft& draft) { return draft.events.empty(); });
}

/// Those names that slices have, the most frequent first: their numbers are the shortest to write.
void number_names(const TrackDrafts& drafts, const Names& of_trace, RankTimeline& timeline) {
  std::vector<std::size_t> uses(drafts.kinds.size());
  for (const Track& track : timeline.tracks) {
    for (const Lane& lane : track.lanes) {
      for (const std::uint32_t name : lane.name) ++uses[name];
    }
  }
  std::vector<std::uint32_t> order(uses.size()), number(uses.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](std::uint32_t name) { return uses[name] == 0; });
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t name) { return uses[name]; });
  for (const std::uint32_t name : order) {
    number[name] = static_cast<std::uint32_t>(timeline.names.size());
    timeline.names.push_back({drafts.name(of_trace, name), drafts.kinds[name]});
  }
  for (Track& track : timeline.tracks) {
    for (Lane& lane : track.lanes) {
      for (std::uint32_t& name : lane.name) name = number[name];
    }
  }
}

void make_tracks(TrackDrafts drafts, const Names& of_trace, const TimelineLimits& limits, StackSums& stacks,
                 RankTimeline& timeline) {
  leave_tracks_out(drafts.tracks, limits.tracks, timeline);
  std::vector<std::vector<std::vector<LaneEvent>>> lanes;
  std::vector<EventLane> all;
  for (TrackDraft& draft : drafts.tracks) {
    sort_lane_events(draft.events);
    if (draft.track.kind == TrackKind::kThread) stacks.add_thread(draft.events);
    lanes.push_back(draft.nests() ? nested_lanes(draft.events) : side_by_side_lanes(draft.events));
    all.insert(all.end(), lanes.back().begin(), lanes.back().end());
    draft.events = {};
  }
  timeline.shortest_ns = shortest_slice_ns(all, limits.slices);
  SliceBlocks blocks(timeline.shortest_ns, drafts.kinds.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Track& track = timeline.tracks.emplace_back(std::move(drafts.tracks[i].track));
    timeline.events += track.events;
    for (const std::vector<LaneEvent>& lane : lanes[i]) {
      track.lanes.push_back(blocks.lane(lane));
      timeline.slices += track.lanes.back().size();
    }
    lanes[i] = {};
  }
  number_names(drafts, of_trace, timeline);
}

}  // namespace

RankTimeline rank_timeline(const Trace& trace, std::span<const CollectiveCall> calls,
                           const TimelineLimits& limits) {
  RankTimeline timeline;
  timeline.source = trace.source;
  timeline.rank = trace.rank.value_or(0);
  const Extent extent = whole_extent(trace);
  timeline.start_ns = extent.start_ns;
  timeline.end_ns = extent.end_ns;
  StackSums stacks(trace);
  make_tracks(track_drafts(trace, calls), trace.names, limits, stacks, timeline);
  const std::vector<std::uint32_t> launch = launches(trace);
  timeline.counters = counters_of(trace, launch, extent, limits.counter_points);
  timeline.stacks = stacks.take_tree(launch, limits.flame_nodes);
  timeline.modules = module_tree(trace, limits.flame_nodes);
  return timeline;
}

}  // namespace headroom::trace
