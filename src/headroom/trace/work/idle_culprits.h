// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {

/// What a thread of the host does at a moment.
enum class HostDoing : std::uint8_t {
  kDataLoading,      ///< inside the annotation of a DataLoader
  kAllocation,       ///< cudaMalloc, cudaFree and their like: of the device's memory, or pinned
  kCompilation,      ///< torch.compile at work
  kCollector,        ///< Python's garbage collector
  kSynchronisation,  ///< a call that waits for the device
  kLaunch,           ///< a call of the runtime or driver; also from the launch to the start of its work
  kOperator,         ///< an operator of the framework, beside its calls of the runtime
  kProgram,          ///< a function of Python or an annotation of the program, beside its operators
  kNotRecorded,      ///< nothing of the thread is in the file
  kNotTheHost        ///< launched in time: the device waited for another stream, an event, or itself
};
inline constexpr std::size_t kHostDoings = 10;
/// "data loading"
const char* to_string(HostDoing doing);

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

/// What each event of the host is, by row of Trace::events; what an event that says nothing of itself is in
/// (a DataLoader, a compilation) it is, too. kNotRecorded for what is none of the host's, and for the steps.
std::vector<HostDoing> host_doings(const Trace& trace, const HostOrder& host);

/// Where a piece of host time belongs in tables: the outermost operator around the event; without one the
/// innermost function or annotation of the program, the steps excepted. kNone where there is neither.
std::uint32_t site_of(const Trace& trace, const std::vector<std::uint32_t>& parent, std::uint32_t event);

/// True for the calls that allocate or free memory of a device, or pinned memory.
bool is_allocation_call(std::string_view name);

}  // namespace headroom::trace
