// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/slice_budget.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();

std::int64_t end_of(const LaneEvent& event) {
  return saturating_add(event.start_ns, event.duration_ns);
}

/// Calls use(i, time) for each event but the first: it is in one block with the one before it where time is
/// less than what is told apart.
template <typename Use>
void for_each_pair(EventLane events, Use use) {
  if (events.empty()) return;
  std::int64_t end = end_of(events.front());
  for (std::size_t i = 1; i < events.size(); ++i) {
    const std::int64_t start = events[i].start_ns;
    // Ends are never before starts: no difference of the two can wrap round but that of a damaged file.
    const std::int64_t gap = start <= end ? 0 : saturating_add(start, -std::max(end, -kLongest));
    use(i, std::min(std::max({events[i - 1].duration_ns, events[i].duration_ns, gap}), kLongest - 1));
    end = std::max(end, end_of(events[i]));
  }
}

/// Buckets of times, 32 in each power of two; ascending with the time.
constexpr unsigned kFineBits = 5;
constexpr std::size_t kBuckets = std::size_t{64} << kFineBits;
std::size_t bucket_of(std::int64_t time_ns) {
  const auto time = static_cast<std::uint64_t>(time_ns);
  const auto bits = static_cast<unsigned>(std::bit_width(time));
  if (bits <= kFineBits + 1) return time;
  const unsigned shift = bits - kFineBits - 1;
  return (std::size_t{shift} << kFineBits) + static_cast<std::size_t>(time >> shift);
}

}  // namespace

std::int64_t shortest_slice_ns(std::span<const EventLane> lanes, std::size_t budget) {
  std::array<std::uint64_t, kBuckets> histogram{};
  std::size_t events = 0;
  for (const EventLane lane : lanes) {
    events += lane.size();
    for_each_pair(lane, [&](std::size_t, std::int64_t time) { ++histogram[bucket_of(time)]; });
  }
  if (events <= budget) return 0;
  std::uint64_t joined = 0;  // by times of the buckets before
  const std::uint64_t wanted = events - budget;
  std::size_t bucket = 0;
  while (bucket < kBuckets && joined + histogram[bucket] < wanted) joined += histogram[bucket++];
  if (bucket == kBuckets) return kLongest;
  std::vector<std::int64_t> times;
  times.reserve(histogram[bucket]);
  for (const EventLane lane : lanes) {
    for_each_pair(lane, [&](std::size_t, std::int64_t time) {
      if (bucket_of(time) == bucket) times.push_back(time);
    });
  }
  const auto last = times.begin() + static_cast<std::ptrdiff_t>(wanted - joined - 1);
  std::ranges::nth_element(times, last);
  return *last + 1;
}

std::uint32_t SliceBlocks::longest_name(EventLane block) {
  for (const LaneEvent& event : block)
    time_of_name_[event.name] = saturating_add(time_of_name_[event.name], event.duration_ns);
  std::uint32_t longest = block.front().name;
  for (const LaneEvent& event : block) {
    if (time_of_name_[event.name] > time_of_name_[longest]) longest = event.name;
  }
  for (const LaneEvent& event : block) time_of_name_[event.name] = 0;
  return longest;
}

Lane SliceBlocks::lane(EventLane events) {
  Lane lane;
  const auto add = [&](EventLane block) {
    std::int64_t end = std::numeric_limits<std::int64_t>::min(), busy = 0;
    for (const LaneEvent& event : block) {
      end = std::max(end, end_of(event));
      busy = saturating_add(busy, event.duration_ns);
    }
    const std::int64_t start = block.front().start_ns;
    lane.start_ns.push_back(start);
    lane.duration_ns.push_back(block.size() == 1 ? block.front().duration_ns
                                                 : saturating_add(end, -std::max(start, -kLongest)));
    lane.name.push_back(longest_name(block));
    lane.count.push_back(static_cast<std::uint32_t>(block.size()));
    lane.busy_ns.push_back(busy);
  };
  std::size_t first = 0;
  for_each_pair(events, [&](std::size_t i, std::int64_t time) {
    if (time < shortest_ns_) return;
    add(events.subspan(first, i - first));
    first = i;
  });
  if (!events.empty()) add(events.subspan(first));
  return lane;
}

}  // namespace headroom::trace
