// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/work/device_work.h"
#include "headroom/trace/work/host_doings.h"

namespace headroom::trace {

/// Part of a time in which a device had nothing to do.
struct IdlePart {
  Span time;
  HostDoing doing = HostDoing::kNotRecorded;
  std::uint32_t event = kNone;  ///< of the host, the innermost that was open; kNone for none
  std::uint32_t gap = 0;        ///< index of the gap
  std::int64_t length_ns() const { return time.end - time.start; }
};

/// A time in which none of a device's streams works.
struct DeviceGap {
  Span time;
  std::int32_t device = -1;
  std::uint32_t before = kNone, next = kNone;  ///< rows of Trace::gpu; kNone at the ends of the window
  std::uint32_t call = kNone;                  ///< that launched `next`
  /// Until when the host kept the device waiting: the launch of `next`, or the start of the gap.
  std::int64_t host_until_ns = 0;
};

/// Every idle time of the devices and who is to blame. The parts are in the order of the gaps and fill each
/// of them: their times sum to the idle time of the devices, to the nanosecond.
struct IdleCulprits {
  std::vector<DeviceGap> gaps;
  std::vector<IdlePart> parts;
};

/// Of the devices of the trace, between each one's first and last work; with a window, within it, and from
/// its start and to its end, too. What keeps a device waiting is what the thread does that launches its next
/// work, until it launches it; where nothing of that thread is recorded, what another thread does that
/// launches work (autograd's, while the main thread waits for it). `work` is device_work(trace), `launch`
/// launches(trace), `host` host_order(trace). Needs kLaunches and kOps; with kPython functions are known,
/// too. O(n log n).
IdleCulprits idle_culprits(const Trace& trace, const DeviceWork& work, std::span<const std::uint32_t> launch,
                           const HostOrder& host, const Span* window = nullptr);

}  // namespace headroom::trace
