// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {

struct StreamOrder {
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::vector<std::uint32_t> rows;  ///< of Trace::gpu, by start
  /// By place in `rows`: start of the launch, or of the preceding work's if later, as streams run in order.
  /// The smallest int64 before the first known launch. Never decreases.
  std::vector<std::int64_t> queued_ns;
  /// By place: true if the queue length is 1 at its launch and 0 at its start. A graph counts at its first
  /// work. False without a known launch.
  std::vector<bool> met_empty_queue;

  /// Place of the last work queued before `at_ns`, or -1.
  std::ptrdiff_t last_queued_before(std::int64_t at_ns) const;
  /// Place of the first work queued at `at_ns` or later, or rows.size().
  std::size_t first_queued_from(std::int64_t at_ns) const;
};

/// By device and number, without `met_empty_queue`. `work` is device_work(trace), `launch` launches(trace).
/// O(n).
std::vector<StreamOrder> stream_orders(const Trace& trace, const DeviceWork& work,
                                       std::span<const std::uint32_t> launch);

/// Fills in `met_empty_queue`. O(n log n).
void find_empty_queues(const Trace& trace, std::span<const std::uint32_t> launch,
                       std::vector<StreamOrder>& orders);

struct HostWait {
  std::uint32_t call = 0;  ///< row of Trace::events
  std::uint32_t row = 0;   ///< row of Trace::gpu
};

/// GPU work that waits for another stream: rows of Trace::gpu.
struct StreamWait {
  std::uint32_t source = 0, waiter = 0;
};

/// cudaDeviceSynchronize, hipEventSynchronize...
bool is_blocking_call(std::string_view name);

/// True if the launching call waits for its row of Trace::gpu: a copy to pageable memory; one from it whose
/// call lasts until it is almost done (small ones are staged); a copy by a synchronous call.
bool is_synchronous_copy(const Trace& trace, std::uint32_t row, std::uint32_t call);

struct SyncWaits {
  std::vector<HostWait> host;
  std::vector<StreamWait> streams;
  std::vector<std::uint32_t> blocking;   ///< calls that only wait
  std::vector<std::uint32_t> unmatched;  ///< events of kGpuSync without a known call or source
  bool is_inferred = false;
};

/// With cuda_sync events: a context sync waits for the last work queued before the call on every stream of
/// its device, a stream sync on its stream, an event sync for the last work of the recorded stream queued
/// before the record; a stream wait delays the stream's next work until then. A query (cudaEventQuery) waits
/// for nothing that ended after it. Without: cudaDeviceSynchronize and similar wait for all streams;
/// cudaStreamSynchronize and cudaEventSynchronize for the stream that the thread last launched to, if
/// finished by then. Always: a synchronous copy (is_synchronous_copy) that ends before the call returns.
SyncWaits sync_waits(const Trace& trace, std::span<const std::uint32_t> launch,
                     std::span<const StreamOrder> streams);

}  // namespace headroom::trace
