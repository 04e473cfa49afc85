// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {

/// The work of one stream in the order of its starts.
struct StreamOrder {
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::vector<std::uint32_t> rows;  ///< of Trace::gpu, by start
  /// By place in `rows`: latest time at which the work entered the queue: the start of its launch, but never
  /// before that of the preceding work, because a stream runs in order. The smallest int64 if no launch is
  /// known up to here. Never decreases along the stream, whatever the device clock says.
  std::vector<std::int64_t> queued_ns;
  /// By place: true if its launch met an empty queue and nothing was launched between it and its start, i.e.
  /// the queue length is 1 at the launch and 0 at the start. A graph launch counts once, at its first work.
  /// False if no launch is known.
  std::vector<bool> met_empty_queue;

  /// Returns the place of the last work queued before `at_ns`, or -1.
  std::ptrdiff_t last_queued_before(std::int64_t at_ns) const;
  /// Returns the place of the first work queued at `at_ns` or later, or rows.size().
  std::size_t first_queued_from(std::int64_t at_ns) const;
};

/// Returns every stream by device and number, without `met_empty_queue`. `work` is device_work(trace),
/// `launch` launches(trace). O(n).
std::vector<StreamOrder> stream_orders(const Trace& trace, const DeviceWork& work,
                                       std::span<const std::uint32_t> launch);

/// Fills in `met_empty_queue` of all streams of a trace. O(n log n).
void find_empty_queues(const Trace& trace, std::span<const std::uint32_t> launch,
                       std::vector<StreamOrder>& orders);

/// A host call that cannot return before a piece of GPU work has ended.
struct HostWait {
  std::uint32_t call = 0;  ///< row of Trace::events
  std::uint32_t row = 0;   ///< of Trace::gpu
};

/// GPU work that cannot start before work of another stream has ended (an event recorded behind the one and
/// waited for before the other). Rows of Trace::gpu.
struct StreamWait {
  std::uint32_t source = 0, waiter = 0;
};

/// True for a call that only waits for the device: cudaDeviceSynchronize, hipEventSynchronize...
bool is_blocking_call(std::string_view name);

/// True if the call that launched a row of Trace::gpu cannot return before it: a copy to pageable memory; one
/// from it whose call lasts until the copy is almost done (small ones are staged, and their calls return at
/// once); a copy of a synchronous call.
bool is_synchronous_copy(const Trace& trace, std::uint32_t row, std::uint32_t call);

struct SyncWaits {
  std::vector<HostWait> host;
  std::vector<StreamWait> streams;
  std::vector<std::uint32_t> blocking;   ///< calls that only wait, with known or unknown target
  std::vector<std::uint32_t> unmatched;  ///< events of kGpuSync whose call or source is not in the file
  bool is_inferred = false;              ///< no cuda_sync in the file: inferred from names of calls
};

/// Finds the waits. With cuda_sync events: a context sync waits for the last work of every stream of its
/// device queued before the call, a stream sync for that of its stream, an event sync for the last work of
/// the recorded stream queued before the record; a stream waiting for an event delays its next work until
/// that. A query (cudaEventQuery) waits for nothing that ended after it. Without cuda_sync events:
/// cudaDeviceSynchronize and similar calls wait for all streams; cudaStreamSynchronize and
/// cudaEventSynchronize for the stream that the thread launched to last, if its last work had ended by then.
/// Always: a copy to or from pageable memory, or of a synchronous call, that ends before the call returns.
SyncWaits sync_waits(const Trace& trace, std::span<const std::uint32_t> launch,
                     std::span<const StreamOrder> streams);

}  // namespace headroom::trace
