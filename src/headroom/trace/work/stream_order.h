// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {

/// The work of one stream of one device, in the order in which it started.
struct StreamOrder {
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::vector<std::uint32_t> rows;  ///< of Trace::gpu, by start
  /// By place in `rows`: when the work was in the queue at the latest. The start of its launch, but never
  /// before that of the work ahead of it: a stream works in order. The smallest int64 where no launch is
  /// known of it or of any before it. Never decreases along the stream, whatever the clock of the device
  /// says.
  std::vector<std::int64_t> queued_ns;
  /// By place: its launch found the queue empty and nothing was launched after it before it started, i.e. the
  /// queue length is 1 at the launch and 0 at the start. The launch of a graph counts as one, at the first of
  /// its work. False where no launch is known.
  std::vector<bool> met_empty_queue;

  /// The place of the last work that was queued before `at_ns`, or -1.
  std::ptrdiff_t last_queued_before(std::int64_t at_ns) const;
  /// The place of the first work that was queued at `at_ns` or later; rows.size() when there is none.
  std::size_t first_queued_from(std::int64_t at_ns) const;
};

/// Every stream, by device and number, without `met_empty_queue`. `work` is device_work(trace), `launch`
/// launches(trace). O(n).
std::vector<StreamOrder> stream_orders(const Trace& trace, const DeviceWork& work,
                                       std::span<const std::uint32_t> launch);

/// Fills in `met_empty_queue` of all streams of a trace. O(n log n).
void find_empty_queues(const Trace& trace, std::span<const std::uint32_t> launch,
                       std::vector<StreamOrder>& orders);

}  // namespace headroom::trace
