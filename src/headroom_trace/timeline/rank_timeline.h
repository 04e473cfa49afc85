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

struct LaneEvent {
  std::int64_t start_ns = 0, duration_ns = 0;
  std::uint32_t name = 0;
  std::uint32_t row = kNone;  ///< of Trace::events; kNone: not a single event
};

/// By start, enclosing events first.
void sort_lane_events(std::vector<LaneEvent>& events);

/// By depth; the last of kMaxLanes takes all deeper events.
std::vector<std::vector<LaneEvent>> nested_lanes(const std::vector<LaneEvent>& events);

/// As many lanes as events overlap. `events` must be sorted.
std::vector<std::vector<LaneEvent>> side_by_side_lanes(const std::vector<LaneEvent>& events);

/// Neighbours share a block if both, and the gap between, are shorter than the resolution.
using EventLane = std::span<const LaneEvent>;

/// Smallest resolution, ns, with at most `budget` slices (at least one per lane); 0 if every event may be a
/// slice. O(n).
std::int64_t shortest_slice_ns(std::span<const EventLane> lanes, std::size_t budget);

class SliceBlocks {
 public:
  /// Event names are less than `names`.
  SliceBlocks(std::int64_t shortest_ns, std::size_t names)
      : shortest_ns_(shortest_ns), time_of_name_(names) {}
  Lane lane(EventLane events);

 private:
  std::uint32_t longest_name(EventLane block);

  std::int64_t shortest_ns_;
  std::vector<std::int64_t> time_of_name_;  ///< zeros between blocks
};

/// Holds until the next point.
struct CounterPoint {
  std::int64_t at_ns = 0;
  std::int64_t value = 0;
};

/// At most `buckets` buckets over `extent`; points outside go to the first or last. `before`: value before
/// the first point.
void fill_buckets(std::span<const CounterPoint> points, std::int64_t before, Extent extent,
                  std::size_t buckets, Counter& counter);

/// Queues of streams and memory of devices (the allocator's total, else a running sum from 0). `launch`:
/// launches(trace). At most `points` buckets in all, at least 50 per counter; drops excess counters.
std::vector<Counter> counters_of(const Trace& trace, std::span<const std::uint32_t> launch, Extent extent,
                                 std::size_t points);

struct TrackDraft {
  Track track;
  std::int64_t number = 0;
  std::vector<LaneEvent> events;  ///< names index TrackDrafts

  bool nests() const { return track.kind != TrackKind::kStream && track.kind != TrackKind::kCollectives; }
};

struct TrackDrafts {
  std::vector<TrackDraft> tracks;
  // By name: the trace's names, then `own_names` (collectives).
  std::vector<NameKind> kinds;
  std::vector<std::string> own_names;
  std::string name(const Names& of_trace, std::uint32_t number) const {
    return number < of_trace.size() ? std::string(of_trace[number]) : own_names[number - of_trace.size()];
  }
};

NameKind name_kind(Category category);

/// Assigns events to tracks: steps, devices, host threads by busy time.
TrackDrafts track_drafts(const Trace& trace, std::span<const CollectiveCall> calls);

/// Host time by stack of names, over all threads and steps.
class StackSums {
 public:
  /// An event belongs to the innermost event that contains most of its time.
  StackSums(const Trace& trace, const HostOrder& host);
  /// Adds device time at its launch (`launch`: launches(trace)). Keeps the `most` nodes with the largest
  /// share, and their ancestors.
  FlameTree take_tree(std::span<const std::uint32_t> launch, std::size_t most);

 private:
  void add(std::uint32_t event, const HostOrder& host);
  std::uint32_t child(std::uint32_t parent, std::uint32_t event);
  std::uint32_t name_of(std::uint32_t event);
  void grow();

  const Trace& trace_;
  FlameTree tree_;
  std::vector<std::uint32_t> depth_;
  std::vector<std::uint32_t> slots_;  ///< nodes by parent and name; open addressing, kNone: free
  std::vector<std::uint32_t> names_;  ///< by trace name; kNone: not seen
  std::unordered_map<std::string, std::uint32_t> changed_;  ///< names that differ from the trace's
  std::vector<std::uint32_t> node_of_event_;                ///< by row of Trace::events; or kNone
};

/// Host time of nn.Module calls and device time below; autograd's counts at its forward operator. Empty
/// without modules. Has the needs of python_work.
FlameTree module_tree(const TraceIndex& index, std::size_t most);

/// Missing categories are not drawn.
inline constexpr Needs kTimelineNeeds =
    Needs::kLaunches | Needs::kOpEvents | Needs::kPython | Needs::kSyncs | Needs::kMemory | Needs::kOthers;
/// Of modules, for call stacks and autograd; double time and memory.
inline constexpr Needs kModuleNeeds = Needs::kOps | Needs::kOpArguments;

/// Every event with a duration is in one slice; steps and collectives have more tracks. `calls`:
/// collective_calls(trace). O(n log n).
RankTimeline rank_timeline(const Trace& trace, std::span<const CollectiveCall> calls,
                           const TimelineLimits& limits = {});

}  // namespace headroom::trace
