// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/timeline/lanes.h"
#include "headroom/trace/timeline/timeline.h"

namespace headroom::trace {

/// Two neighbours of a lane are in one block where both, and the time between them, are shorter than what is
/// told apart. Hence how many slices there are for any such time follows from one number of each pair.
using EventLane = std::span<const LaneEvent>;

/// The least time for which the lanes have `budget` slices or fewer, ns: 0 where all events may be slices of
/// their own. A lane has one slice at least, whatever the budget. O(n): a histogram of the pairs, then those
/// of one of its buckets.
std::int64_t shortest_slice_ns(std::span<const EventLane> lanes, std::size_t budget);

/// Makes the slices of lanes; for many lanes of the same names.
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

}  // namespace headroom::trace
