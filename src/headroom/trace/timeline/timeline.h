// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What a track shows. Tracks stand in this order.
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

/// What the events of a name are, by which they are coloured.
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

/// What is drawn in one row of a track, by start: columns of one length. A slice is one event, or a block of
/// neighbours that are each too short to be told apart; its extent is from the first start to the last end.
struct Lane {
  std::vector<std::int64_t> start_ns, duration_ns;
  std::vector<std::uint32_t> name;    ///< index of the names; of a block the one that takes most of it
  std::vector<std::uint32_t> count;   ///< events; 1: the slice is an event
  std::vector<std::int64_t> busy_ns;  ///< the durations of its events, which lie apart in it

  std::size_t size() const { return start_ns.size(); }
};

struct Track {
  TrackKind kind = TrackKind::kThread;
  std::string name;          ///< "stream 7", "python 1000, thread 1001"
  std::int32_t device = -1;  ///< of device tracks; -1: not said
  std::uint64_t events = 0;
  std::int64_t busy_ns = 0;  ///< the durations of all of its events; of those that nest each counts
  /// By depth: what encloses another stands above it. No two slices of a lane overlap, but in the last of
  /// kMostLanes, where everything deeper is.
  std::vector<Lane> lanes;
};
inline constexpr std::size_t kMostLanes = 128;

enum class CounterKind : std::uint8_t { kQueue, kAllocated, kReserved };
/// "queue", "allocated", "reserved"
const char* to_string(CounterKind kind);

/// A value over time, in buckets of one width. Columns of one length: the buckets in which it changes. From
/// one of them to the next the value is `last`.
struct Counter {
  CounterKind kind = CounterKind::kQueue;
  std::string name;  ///< "stream 7", "CUDA 0"
  std::int32_t device = -1;
  std::int64_t start_ns = 0, bucket_ns = 1;
  std::vector<std::uint32_t> bucket;
  std::vector<std::int64_t> least, most, last;  ///< launches, or bytes
};

/// A name within those that it was called by.
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
  std::uint64_t left_out = 0;     ///< nodes with less time; it is still in those around them
};

/// The timeline of one rank. Times are of its own clock.
struct RankTimeline {
  std::string source;
  std::int64_t rank = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< of every event; both 0 without any
  std::int64_t offset_ns = 0;  ///< how far its clock is ahead: taken from its times where ranks meet
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
/// What each of that many ranks may hold, so that all of them keep to the limits.
TimelineLimits limits_of_rank(const TimelineLimits& limits, std::size_t ranks);

}  // namespace headroom::trace
