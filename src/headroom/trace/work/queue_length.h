// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// From at_ns until the next step, `length` pieces of work are launched and not yet started.
struct QueueStep {
  std::int64_t at_ns = 0;
  std::int64_t length = 0;
  bool operator==(const QueueStep&) const = default;
};

/// The queue of one stream over time.
struct StreamQueue {
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::size_t works = 0;           ///< that have a launch: the queue is made of them
  std::size_t without_launch = 0;  ///< left out
  std::vector<QueueStep> steps;    ///< by time, no two neighbours of one length; the last is empty
};

/// One entry a (device, stream) that has work, in that order. A piece of work is in the queue from the start
/// of its launch to its own start, each of the many of a graph by itself; one that starts before its launch
/// (clocks that differ) is never in it. What changes at one instant is one step. `launch` is what launches()
/// gave.
std::vector<StreamQueue> queue_lengths(const Trace& trace, std::span<const std::uint32_t> launch);

/// A queue in numbers, over the time from its first step to its last.
struct QueueSummary {
  std::int64_t span_ns = 0;
  std::int64_t max_length = 0;
  double length_ns = 0;         ///< the length integrated over time; over span_ns it is the mean
  std::int64_t empty_ns = 0;    ///< nothing waits: the device had caught up with the host
  std::int64_t blocked_ns = 0;  ///< `limit` or more wait: the next launch blocks the host
};
QueueSummary summarize(const std::vector<QueueStep>& steps, std::int64_t limit);

}  // namespace headroom::trace
