// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/merge/trace_merge.h"

namespace headroom::trace {

/// Tracks in drawing order.
enum class TrackKind : std::uint8_t {
  kSteps,
  kCollectives,
  kStream,
  kAnnotations,  ///< of the program, on one device
  kWaits,        ///< synchronisations
  kThread        ///< of the host
};
const char* to_string(TrackKind kind);

enum class NameKind : std::uint8_t {
  kCompute,
  kCommunication,
  kMemory,
  kOperator,
  kCall,
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

/// By start. A slice is one event, or a block of neighbours too short to draw.
struct Lane {
  std::vector<std::int64_t> start_ns, duration_ns;
  std::vector<std::uint32_t> name;    ///< in a block, the one with most time
  std::vector<std::uint32_t> count;   ///< of events
  std::vector<std::int64_t> busy_ns;  ///< sum of durations

  std::size_t size() const { return start_ns.size(); }
};

struct Track {
  TrackKind kind = TrackKind::kThread;
  std::string name;          ///< "stream 7", "python 1000, thread 1001"
  std::int32_t device = -1;  ///< -1: unknown
  std::uint64_t events = 0;
  std::int64_t busy_ns = 0;  ///< sum of durations, including nested
  /// By depth, as nested_lanes(): slices overlap only in the last of kMaxLanes.
  std::vector<Lane> lanes;
};
inline constexpr std::size_t kMaxLanes = 128;

enum class CounterKind : std::uint8_t { kQueue, kAllocated, kReserved };
const char* to_string(CounterKind kind);

/// The buckets in which a value changes. Between them it is `last`.
struct Counter {
  CounterKind kind = CounterKind::kQueue;
  std::string name;  ///< "stream 7", "CUDA 0"
  std::int32_t device = -1;
  std::int64_t start_ns = 0, bucket_ns = 1;
  std::vector<std::uint32_t> bucket;
  std::vector<std::int64_t> least, most, last;  ///< launches or bytes
};

struct FlameNode {
  std::uint32_t parent = kNone;  ///< an earlier node; kNone: root
  std::uint32_t name = 0;
  NameKind kind = NameKind::kOther;
  std::int64_t host_ns = 0, device_ns = 0;  ///< including children
  std::int64_t calls = 0;
};

struct FlameTree {
  std::vector<std::string> names;
  std::vector<FlameNode> nodes;
  std::int64_t elsewhere_ns = 0;  ///< outside all nodes
  std::uint64_t left_out = 0;     ///< dropped; their time stays in the parents
};

/// One rank, on its clock.
struct RankTimeline {
  std::string source;
  std::int64_t rank = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< both 0 without events
  std::int64_t offset_ns = 0;             ///< clock lead
  /// Shorter events share slices. 0: none do.
  std::int64_t shortest_ns = 0;
  std::uint64_t events = 0, slices = 0;
  std::uint64_t tracks_left_out = 0, events_left_out = 0;  ///< beyond TimelineLimits::tracks
  std::vector<TimelineName> names;                         ///< most frequent first
  std::vector<Track> tracks;
  std::vector<Counter> counters;
  FlameTree stacks, modules;
};

struct TimelineLimits {
  std::size_t slices = 300'000;  ///< of all tracks; at least one per lane
  std::size_t tracks = 256;      ///< the busiest
  std::size_t counter_points = 60'000;
  std::size_t flame_nodes = 4000;  ///< per tree
};
TimelineLimits limits_of_rank(const TimelineLimits& limits, std::size_t ranks);

/// On one clock.
struct JobTimeline {
  std::int64_t start_ns = 0, end_ns = 0;  ///< of all ranks
  std::vector<TimelineName> names;
  std::vector<RankTimeline> ranks;  ///< `names` empty; subtract `offset_ns` from the times
  std::vector<std::string> notes;   ///< assumptions, a sentence each
};

/// `ranks` in the order given to job_clocks. Ranks that never overlap start together, with a note. Names take
/// at most `name_bytes`: the longest lose their middles.
JobTimeline job_timeline(std::vector<RankTimeline> ranks, const JobClocks& clocks,
                         std::size_t name_bytes = std::size_t{4} << 20);

/// Compact JSON on one line:
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
/// Times are ns after start_ns on the common clock. A gap is the time since the end of the preceding slice
/// (first: since 0), negative only in the deepest lane. Blocks are the slices of several events, each as the
/// distance from the preceding block; counts and busy belong to them. `at` holds distances; `most` is
/// relative to `least`. Empty flames are omitted; parents index earlier nodes, or -1.
std::string timeline_json(const JobTimeline& job);

}  // namespace headroom::trace
