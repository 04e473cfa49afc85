// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/columns/host_order.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/timeline/timeline.h"

namespace headroom::trace {

/// An event of a track, before slices are formed.
struct LaneEvent {
  std::int64_t start_ns = 0, duration_ns = 0;
  std::uint32_t name = 0;
  std::uint32_t row = kNone;  ///< of Trace::events; kNone: not a single event
};

/// Sorts by start, enclosing events first.
void sort_lane_events(std::vector<LaneEvent>& events);

/// Distributes the sorted events of a thread over lanes by depth: each below those open at its start. Events
/// deeper than kMostLanes go to the last.
std::vector<std::vector<LaneEvent>> nested_lanes(const std::vector<LaneEvent>& events);

/// Distributes the sorted events of a stream: one lane, and more only for events that start before the
/// preceding ones have ended.
std::vector<std::vector<LaneEvent>> side_by_side_lanes(const std::vector<LaneEvent>& events);

/// Two neighbours of a lane share a block if both, and the time between them, are shorter than the
/// resolution. So one number per pair gives the number of slices for any resolution.
using EventLane = std::span<const LaneEvent>;

/// Returns the smallest resolution for which the lanes have at most `budget` slices, ns; 0 if every event may
/// be a slice. Every lane has at least one slice. O(n): a histogram of the pairs, then the pairs of one
/// bucket.
std::int64_t shortest_slice_ns(std::span<const EventLane> lanes, std::size_t budget);

/// Makes the slices of lanes, for many lanes with the same names.
class SliceBlocks {
 public:
  /// Names of events are less than `names`.
  SliceBlocks(std::int64_t shortest_ns, std::size_t names)
      : shortest_ns_(shortest_ns), time_of_name_(names) {}
  Lane lane(EventLane events);

 private:
  std::uint32_t longest_name(EventLane block);

  std::int64_t shortest_ns_;
  std::vector<std::int64_t> time_of_name_;  ///< zeros between blocks
};

/// From at_ns until the next, the value.
struct CounterPoint {
  std::int64_t at_ns = 0;
  std::int64_t value = 0;
};

/// Fills the columns of a counter from points by time, in at most `buckets` buckets over `extent`; points
/// outside go to the first or last. `before` is the value before the first point.
void fill_buckets(std::span<const CounterPoint> points, std::int64_t before, Extent extent,
                  std::size_t buckets, Counter& counter);

/// Returns the queue of each stream and the memory of each device (the allocator's total, else the running
/// sum from the start of the trace). `launch` is launches(trace). At most `points` buckets together, at least
/// 50 per counter; excess counters are dropped.
std::vector<Counter> counters_of(const Trace& trace, std::span<const std::uint32_t> launch, Extent extent,
                                 std::size_t points);

/// A track whose events are not yet slices.
struct TrackDraft {
  Track track;                    ///< without lanes
  std::int64_t number = 0;        ///< of the stream
  std::vector<LaneEvent> events;  ///< their names are TrackDrafts'

  bool nests() const { return track.kind != TrackKind::kStream && track.kind != TrackKind::kCollectives; }
};

struct TrackDrafts {
  std::vector<TrackDraft> tracks;
  // By name: those of the trace by their numbers, then `own_names`, the collectives'.
  std::vector<NameKind> kinds;
  std::vector<std::string> own_names;
  std::string name(const Names& of_trace, std::uint32_t number) const {
    return number < of_trace.size() ? std::string(of_trace[number]) : own_names[number - of_trace.size()];
  }
};

/// Returns the kind of names of a category.
NameKind name_kind(Category category);

/// Puts every event into its track, in file order. Tracks in drawing order: steps, devices, then host threads
/// with the busiest first.
TrackDrafts track_drafts(const Trace& trace, std::span<const CollectiveCall> calls);

/// Sums host time by stacks of open names: a node for each path of names, over all threads and steps.
class StackSums {
 public:
  /// An event counts in the innermost one around it that most of it lies in.
  StackSums(const Trace& trace, const HostOrder& host);
  /// Returns the tree with device time where it was launched. `launch` is launches(trace). Of more than
  /// `most` nodes, keeps those with the largest share of either time, and their ancestors.
  FlameTree take_tree(std::span<const std::uint32_t> launch, std::size_t most);

 private:
  void add(std::uint32_t event, const HostOrder& host);
  std::uint32_t child(std::uint32_t parent, std::uint32_t event);
  std::uint32_t name_of(std::uint32_t event);
  void grow();

  const Trace& trace_;
  FlameTree tree_;
  std::vector<std::uint32_t> depth_;  ///< of each node
  std::vector<std::uint32_t> slots_;  ///< nodes by parent and name; open addressing, kNone: free
  std::vector<std::uint32_t> names_;  ///< by name of the trace: name in the tree; kNone: not seen
  std::unordered_map<std::string, std::uint32_t> changed_;  ///< names that differ from the trace's
  std::vector<std::uint32_t> node_of_event_;                ///< by row of Trace::events; kNone: none
};

/// Returns the modules (nn.Module) of a trace with the host time of their calls and the device time below
/// them; autograd's counts at its forward operator (python_work). Empty without modules. Needs those of
/// python_work.
FlameTree module_tree(const TraceIndex& index, std::size_t most);

/// Needs of a complete timeline. Categories that were not read are not drawn.
inline constexpr Needs kTimelineNeeds =
    Needs::kLaunches | Needs::kOpEvents | Needs::kPython | Needs::kSyncs | Needs::kMemory | Needs::kOthers;
/// Additional needs of its modules: for traces with call stacks, and for work that autograd launches. As
/// costly in time and memory as all the rest.
inline constexpr Needs kModuleNeeds = Needs::kOps | Needs::kOpArguments;

/// Returns the timeline of one rank: every event with a duration in a slice of one track; steps and
/// collectives also in tracks of their own. `calls` is collective_calls(trace). O(n log n).
RankTimeline rank_timeline(const Trace& trace, std::span<const CollectiveCall> calls,
                           const TimelineLimits& limits = {});

}  // namespace headroom::trace
