// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/merge/trace_merge.h"

namespace headroom::trace {

/// The kind of a track, in drawing order.
enum class TrackKind : std::uint8_t {
  kSteps,
  kCollectives,  ///< of one device
  kStream,       ///< of one device
  kAnnotations,  ///< of the program, as they are on one device
  kWaits,        ///< synchronisations of one device
  kThread        ///< of the host
};
/// "steps", "collectives", "stream", "annotations", "waits", "thread"
const char* to_string(TrackKind kind);

/// The kind of a name, which decides its colour.
enum class NameKind : std::uint8_t {
  kCompute,
  kCommunication,
  kMemory,
  kOperator,
  kCall,  ///< of the runtime or the driver
  kPython,
  kAnnotation,
  kWait,
  kOther
};
inline constexpr std::size_t kNameKinds = 9;
const char* to_string(NameKind kind);

struct TimelineName {
  std::string text;
  NameKind kind = NameKind::kOther;
};

/// One row of a track, by start: columns of equal length. A slice is one event, or a block of neighbours too
/// short to tell apart, from the first start to the last end.
struct Lane {
  std::vector<std::int64_t> start_ns, duration_ns;
  std::vector<std::uint32_t> name;    ///< index of the names; of a block: the name with most time
  std::vector<std::uint32_t> count;   ///< events; 1: the slice is an event
  std::vector<std::int64_t> busy_ns;  ///< sum of the durations of its events

  std::size_t size() const { return start_ns.size(); }
};

struct Track {
  TrackKind kind = TrackKind::kThread;
  std::string name;          ///< "stream 7", "python 1000, thread 1001"
  std::int32_t device = -1;  ///< of device tracks; -1: not said
  std::uint64_t events = 0;
  std::int64_t busy_ns = 0;  ///< sum of the durations of its events, nested ones included
  /// By depth, enclosing events above. Slices of a lane do not overlap, except in the last of kMostLanes,
  /// which takes everything deeper.
  std::vector<Lane> lanes;
};
inline constexpr std::size_t kMostLanes = 128;

enum class CounterKind : std::uint8_t { kQueue, kAllocated, kReserved };
/// "queue", "allocated", "reserved"
const char* to_string(CounterKind kind);

/// A value over time, in buckets of equal width. Columns of equal length: the buckets in which it changes.
/// Between them the value is `last`.
struct Counter {
  CounterKind kind = CounterKind::kQueue;
  std::string name;  ///< "stream 7", "CUDA 0"
  std::int32_t device = -1;
  std::int64_t start_ns = 0, bucket_ns = 1;
  std::vector<std::uint32_t> bucket;
  std::vector<std::int64_t> least, most, last;  ///< launches, or bytes
};

/// A name within its callers.
struct FlameNode {
  std::uint32_t parent = kNone;  ///< index of a node before it; kNone: nothing was around it
  std::uint32_t name = 0;        ///< index of FlameTree::names
  NameKind kind = NameKind::kOther;
  std::int64_t host_ns = 0, device_ns = 0;  ///< with all that is below it
  std::int64_t calls = 0;
};

struct FlameTree {
  std::vector<std::string> names;
  std::vector<FlameNode> nodes;
  std::int64_t elsewhere_ns = 0;  ///< of the devices, below none of the nodes
  std::uint64_t left_out = 0;     ///< nodes with less time, which remains in their parents
};

/// The timeline of one rank. Times are of its own clock.
struct RankTimeline {
  std::string source;
  std::int64_t rank = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< of every event; both 0 without any
  std::int64_t offset_ns = 0;             ///< its clock's lead, subtracted where ranks are compared
  /// Events at least this long are slices of their own. 0: all are.
  std::int64_t shortest_ns = 0;
  std::uint64_t events = 0, slices = 0;
  std::uint64_t tracks_left_out = 0, events_left_out = 0;  ///< of tracks beyond TimelineLimits::tracks
  std::vector<TimelineName> names;  ///< those that slices have, the most frequent first
  std::vector<Track> tracks;
  std::vector<Counter> counters;
  FlameTree stacks, modules;  ///< of the host, by what was open at once, and by nn.Module
};

/// How much a timeline may hold.
struct TimelineLimits {
  std::size_t slices = 300'000;         ///< of all tracks; at least one a lane
  std::size_t tracks = 256;             ///< the busiest
  std::size_t counter_points = 60'000;  ///< buckets of all counters
  std::size_t flame_nodes = 4000;       ///< of each tree
};
/// Returns the limits of each of that many ranks, so that all together keep to `limits`.
TimelineLimits limits_of_rank(const TimelineLimits& limits, std::size_t ranks);

/// The timelines of the ranks of a job on one clock.
struct JobTimeline {
  std::int64_t start_ns = 0, end_ns = 0;  ///< of all ranks, on that clock
  std::vector<TimelineName> names;        ///< shared by the slices of all ranks
  std::vector<RankTimeline> ranks;        ///< by rank, `names` empty; subtract `offset_ns` from their times
  std::vector<std::string> notes;         ///< what was assumed, a sentence each
};

/// `ranks` are in the order in which their clocks were given to job_clocks. Ranks that never overlap on these
/// clocks are drawn from their own starts, with a note. Names take at most `name_bytes` together: beyond it,
/// the longest lose their middles.
JobTimeline job_timeline(std::vector<RankTimeline> ranks, const JobClocks& clocks,
                         std::size_t name_bytes = std::size_t{4} << 20);

/// The timeline as JSON on one line, made to be short: columns of numbers, no object for a slice.
///
///     {"start_ns":…,"length_ns":…,"kinds":["compute",…],"names":["aten::mm",…],"name_kinds":[3,…],"ranks":[
///       {"rank":0,"file":"…","offset_ns":…,"shortest_ns":…,"events":…,"slices":…,"tracks_left_out":…,
///        "events_left_out":…,
///        "tracks":[{"kind":"stream","name":"stream 7","device":0,"events":…,"busy_ns":…,"lanes":[
///          [[gaps],[durations],[names],[blocks],[counts],[busy]]]}],
///        "counters":[{"kind":"queue","name":"stream 7","device":0,"start_ns":…,"bucket_ns":…,
///          "at":[…],"least":[…],"most":[…],"last":[…]}],
///        "flames":[{"by":"stack","names":["…"],"parent":[…],"name":[…],"kind":[…],"host":[…],"device":[…],
///          "calls":[…],"elsewhere":…,"left_out":…},{"by":"module",…}]}]}
///
/// Times are ns after start_ns, on the clock that the ranks share. A gap is the time from the end of the
/// slice before (of the first: from 0) to the start; below 0 only in the lane of everything too deep. Names
/// are indices of "names". Blocks are the slices that stand for several events, each as the distance from the
/// one before, and counts and busy are theirs. `at` is by distances, too; `most` is that beyond `least`.
/// Flames are those with nodes; parents are indices of nodes before, or -1.
std::string timeline_json(const JobTimeline& job);

}  // namespace headroom::trace
