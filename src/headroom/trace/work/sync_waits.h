// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/work/stream_order.h"

namespace headroom::trace {

/// A call of the host that cannot return before a piece of GPU work has ended.
struct HostWait {
  std::uint32_t call = 0;  ///< row of Trace::events
  std::uint32_t row = 0;   ///< of Trace::gpu
};

/// GPU work that cannot start before GPU work of another stream has ended (an event was recorded behind the
/// one and waited for before the other). Rows of Trace::gpu.
struct StreamWait {
  std::uint32_t source = 0, waiter = 0;
};

/// True for a call that does nothing but wait for the device: cudaDeviceSynchronize, hipEventSynchronize...
bool is_blocking_call(std::string_view name);

struct SyncWaits {
  std::vector<HostWait> host;
  std::vector<StreamWait> streams;
  std::vector<std::uint32_t>
      blocking;  ///< calls that do nothing but wait, whether or not it is known for what
  std::vector<std::uint32_t> unmatched;  ///< events of kGpuSync whose call or source is not in the file
  bool is_inferred = false;              ///< no cuda_sync in the file: from the names of the calls
};

/// Who waits for what. From the cuda_sync events: a context sync waits for the last work of every stream of
/// its device that was queued before the call, a stream sync for that of its stream, an event sync for the
/// last work of the recorded stream that was queued before the record; a stream that waits for an event holds
/// its next work back until that. A query (cudaEventQuery) waits for nothing that ended after it.
/// Without cuda_sync events: cudaDeviceSynchronize and its kin wait for all streams, cudaStreamSynchronize
/// and cudaEventSynchronize for the stream that the thread launched to last, if its last work ended by then.
/// In either case a copy to pageable memory, or one of a synchronous call, ends before the call returns.
SyncWaits sync_waits(const Trace& trace, std::span<const std::uint32_t> launch,
                     std::span<const StreamOrder> streams);

}  // namespace headroom::trace
