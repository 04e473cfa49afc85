// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {

/// Annotations that wait for input: torch's "enumerate(DataLoader)#..." and "enumerate(DataPipe)#...",
/// Lightning's "...dataloader_next", TensorFlow's "IteratorGetNext".
bool is_data_loading(std::string_view annotation);

Spans data_loading(const Trace& trace);
/// When gloo or MPI ran ("gloo:all_reduce"); kernels show device communication.
Spans host_communication(const Trace& trace);
/// When operators ran, on any thread.
Spans operators(const Trace& trace);
/// On any thread.
Spans times_of(const Trace& trace, Category category);

enum class HostActivity : std::uint8_t {
  kDataLoading,
  kAllocation,
  kCompilation,
  kCollector,
  kSynchronisation,
  kLaunch,  ///< a runtime or driver call, or its usual latency
  kOperator,
  kProgram,
  kNotRecorded,  ///< the thread or the launch is not in the file
  kNotTheHost,   ///< launched in time: waits for a stream, an event or itself
  kDeviceLate    ///< the launch returned in the gap; the start is unusually late
};
inline constexpr std::size_t kHostActivities = 11;
const char* to_string(HostActivity doing);

/// By row of Trace::events; inherited from the enclosing event if there is none; kNotRecorded for device
/// events and steps.
std::vector<HostActivity> host_activities(const Trace& trace, const HostOrder& host);

struct HostTimes {
  struct Time {
    Span span;
    std::uint32_t thread;  ///< launches the work after it; kNone if unknown
  };
  std::vector<Time> times;         ///< by device and start; disjoint within a device
  std::vector<std::size_t> first;  ///< of each device in `times`, and the end
};

struct HostPart {
  Span span;
  std::uint32_t time = 0;       ///< index in HostTimes::times
  std::uint32_t event = kNone;  ///< innermost; kNone: nothing recorded
};

/// Cuts the times by activity of the launching thread; where it has no events, of the other launching thread
/// whose call began first; without launches, of any thread. The parts fill the times exactly, in order.
/// `doing` is host_activities(trace, host).
std::vector<HostPart> host_parts(const Trace& trace, std::span<const std::uint32_t> launch,
                                 const HostOrder& host, std::span<const HostActivity> doing,
                                 const HostTimes& times);

/// The event under which host time is reported: the outermost operator, else the innermost Python function or
/// annotation except steps, else kNone.
std::uint32_t site_of(const Trace& trace, const std::vector<std::uint32_t>& parent, std::uint32_t event);

bool is_allocation_call(std::string_view name);

struct IdleGap {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t before = 0;  ///< row of Trace::gpu that ended at start_ns
  std::uint32_t next = 0;    ///< row of Trace::gpu that starts at end_ns
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

/// Gaps between `rows` (of Trace::gpu, by start). Work inside longer work makes no gap.
std::vector<IdleGap> idle_gaps(const Trace& trace, std::span<const std::uint32_t> rows);

struct IdlePart {
  Span time;
  HostActivity doing = HostActivity::kNotRecorded;
  std::uint32_t event = kNone;
  std::uint32_t gap = 0;  ///< index in IdleCulprits::gaps
  std::int64_t length_ns() const { return time.end - time.start; }
};

/// A time in which all streams of a device are idle.
struct DeviceGap {
  Span time;
  std::int32_t device = -1;
  std::uint32_t before = kNone, next = kNone;  ///< rows of Trace::gpu; kNone at the window's ends
  std::uint32_t call = kNone;                  ///< launched `next`
  /// End of the host's part: the launch of `next`, or the start of the gap.
  std::int64_t host_until_ns = 0;
  std::int64_t call_until_ns = 0;  ///< end of the launch call's part
  std::int64_t late_from_ns = 0;   ///< when `next` usually starts; end of the gap if it did
  bool is_work_lost = false;       ///< the device may have run work missing from the file
  bool is_device_late() const { return late_from_ns < time.end && !is_work_lost; }
};

/// The parts fill the gaps exactly, in order.
struct IdleCulprits {
  std::vector<DeviceGap> gaps;
  std::vector<IdlePart> parts;
};

/// For each device from its first to its last work, or its window (by index of `work.devices`). Blames the
/// host until the next launch (host_parts). `work` is device_work(trace), `launch` launches(trace), `host`
/// host_order(trace). Needs kLaunches and kOps; kPython adds functions. O(n log n).
IdleCulprits idle_culprits(const Trace& trace, const DeviceWork& work, std::span<const std::uint32_t> launch,
                           const HostOrder& host, std::span<const Span> windows = {});

}  // namespace headroom::trace
