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

/// True for the annotation of a program that waits for its input: torch's "enumerate(DataLoader)#...",
/// "enumerate(DataPipe)#...", Lightning's "...dataloader_next", TensorFlow's "IteratorGetNext".
bool is_data_loading(std::string_view annotation);

/// When the program waited for its input (is_data_loading).
Spans data_loading(const Trace& trace);
/// When a communication library of the host ran: gloo and MPI annotate "gloo:all_reduce". Device
/// communication is found by its kernels instead.
Spans host_communication(const Trace& trace);
/// When any operator of the framework ran, on any thread. Annotations such as steps do not count.
Spans operators(const Trace& trace);
/// When any event of the category ran, on any thread.
Spans times_of(const Trace& trace, Category category);

/// Activity of a host thread.
enum class HostDoing : std::uint8_t {
  kDataLoading,      ///< inside the annotation of a DataLoader
  kAllocation,       ///< cudaMalloc, cudaFree and similar calls, for device or pinned memory
  kCompilation,      ///< torch.compile at work
  kCollector,        ///< Python's garbage collector
  kSynchronisation,  ///< a call that waits for the device
  kLaunch,           ///< a call of the runtime or driver; also its usual delay until the work starts
  kOperator,         ///< an operator of the framework, outside its runtime calls
  kProgram,          ///< a Python function or an annotation of the program, outside operators
  kNotRecorded,      ///< nothing of the thread is in the file, or no launch of the work
  kNotTheHost,       ///< launched in time: the device waited for another stream, an event, or itself
  kDeviceLate        ///< the launch has returned in the gap, and the work starts later than usual
};
inline constexpr std::size_t kHostDoings = 11;
/// "data loading"
const char* to_string(HostDoing doing);

/// Returns the activity of each host event, by row of Trace::events; an event that does not tell its own
/// inherits that of the enclosing one (a DataLoader, a compilation). kNotRecorded for events of devices and
/// for steps.
std::vector<HostDoing> host_doings(const Trace& trace, const HostOrder& host);

/// Times of the host to look up in its threads.
struct HostTimes {
  struct Time {
    Span span;
    std::uint32_t thread;  ///< that launches the work after it; kNone if unknown
  };
  std::vector<Time> times;         ///< by device and start; those of one device do not overlap
  std::vector<std::size_t> first;  ///< of each device in `times`, and the end
};

/// Part of one of HostTimes.
struct HostPart {
  Span span;
  std::uint32_t time = 0;       ///< index of the time
  std::uint32_t event = kNone;  ///< innermost open event; kNone: nothing recorded
};

/// Cuts the times by the calls that the host was in. The thread that launches the next work counts; while
/// nothing of it is recorded, of the other threads that launch work (autograd's, or the main thread, which
/// waits for it) the one whose call began first. Without launches in the file any thread counts. The parts
/// fill the times exactly, in their order. `doing` is host_doings(trace, host).
std::vector<HostPart> host_parts(const Trace& trace, std::span<const std::uint32_t> launch,
                                 const HostOrder& host, std::span<const HostDoing> doing,
                                 const HostTimes& times);

/// Returns the event that host time is reported under: the outermost operator around the event, else the
/// innermost Python function or annotation except steps, else kNone.
std::uint32_t site_of(const Trace& trace, const std::vector<std::uint32_t>& parent, std::uint32_t event);

/// True for the calls that allocate or free memory of a device, or pinned memory.
bool is_allocation_call(std::string_view name);

/// An idle time between two of some rows.
struct IdleGap {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t before = 0;  ///< row of Trace::gpu that ended at start_ns
  std::uint32_t next = 0;    ///< row of Trace::gpu that starts at end_ns
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

/// Returns the gaps between `rows` (of Trace::gpu, by start): from the latest end so far to the next start,
/// so that work inside longer work makes no gap.
std::vector<IdleGap> idle_gaps(const Trace& trace, std::span<const std::uint32_t> rows);

/// Part of a device's idle time.
struct IdlePart {
  Span time;
  HostDoing doing = HostDoing::kNotRecorded;
  std::uint32_t event = kNone;  ///< innermost open event of the host, or kNone
  std::uint32_t gap = 0;        ///< index of the gap
  std::int64_t length_ns() const { return time.end - time.start; }
};

/// A time in which all streams of a device are idle.
struct DeviceGap {
  Span time;
  std::int32_t device = -1;
  std::uint32_t before = kNone, next = kNone;  ///< rows of Trace::gpu; kNone at the ends of the window
  std::uint32_t call = kNone;                  ///< that launched `next`
  /// End of the host's part: the launch of `next`, or the start of the gap.
  std::int64_t host_until_ns = 0;
  std::int64_t call_until_ns = 0;  ///< end of the part inside the launch call
  std::int64_t late_from_ns = 0;   ///< `next` usually starts by then; the end of the gap if it did
  bool is_work_lost = false;       ///< the device may have been busy with work that is not in the file
  bool is_device_late() const { return late_from_ns < time.end && !is_work_lost; }
};

/// All idle times of the devices with their causes. The parts are in the order of the gaps and fill them
/// exactly.
struct IdleCulprits {
  std::vector<DeviceGap> gaps;
  std::vector<IdlePart> parts;
};

/// Covers each device from its first to its last work; with windows (by index of `work.devices`), exactly its
/// own. Until the next work is launched the host is to blame (host_parts). `work` is device_work(trace),
/// `launch` launches(trace), `host` host_order(trace). Needs kLaunches and kOps; kPython adds functions. O(n
/// log n).
IdleCulprits idle_culprits(const Trace& trace, const DeviceWork& work, std::span<const std::uint32_t> launch,
                           const HostOrder& host, std::span<const Span> windows = {});

}  // namespace headroom::trace
