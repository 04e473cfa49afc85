// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/columns/steps.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/timeline/timeline.h"

namespace headroom::trace {

/// From at_ns until the next, the value.
struct CounterPoint {
  std::int64_t at_ns = 0;
  std::int64_t value = 0;
};

/// Fills the columns of a counter from points by time, in at most `buckets` buckets over `extent`; points
/// outside are of the first or the last. `before` is the value until the first point.
void fill_buckets(std::span<const CounterPoint> points, std::int64_t before, Extent extent,
                  std::size_t buckets, Counter& counter);

/// The queue of each stream, and the memory of each device as its allocator tells it, else as the sum of what
/// the trace has of it (which counts from its start). `launch` is launches(trace). Together at most `points`
/// buckets, and at least 50 of each counter; of more than points / 50 counters the first.
std::vector<Counter> counters_of(const Trace& trace, std::span<const std::uint32_t> launch, Extent extent,
                                 std::size_t points);

}  // namespace headroom::trace
