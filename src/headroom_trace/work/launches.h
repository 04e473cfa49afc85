// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

enum class LaunchKind : std::uint8_t { kKernel, kMemcpy, kMemset, kGraph };
const char* to_string(LaunchKind kind);

struct LaunchCall {
  std::uint32_t call = 0;           ///< row of Trace::events
  std::vector<std::uint32_t> rows;  ///< of Trace::gpu, by start
  LaunchKind kind = LaunchKind::kKernel;
};

/// Calls that launched work, by start: any runtime or driver event with correlated work. A call with several
/// works, or named "...GraphLaunch", is a graph. `launch` is launches(trace).
std::vector<LaunchCall> launch_calls(const Trace& trace, std::span<const std::uint32_t> launch);

/// From the end of the call to the start of the work, ns. HTA and our tables show negative delays as 0.
std::int64_t signed_delay_ns(const Trace& trace, std::uint32_t call, std::uint32_t row);

struct Launches {
  const Trace& trace;
  std::vector<std::uint32_t> launch;  ///< launches(): by row of Trace::gpu
  std::vector<std::uint32_t> op;      ///< launching_ops(): by row of Trace::gpu
  std::vector<LaunchCall> calls;

  explicit Launches(const Trace& of);
  std::int64_t call_ns(const LaunchCall& call) const { return trace.events.duration_ns[call.call]; }
  std::int64_t gpu_ns(std::uint32_t row) const { return trace.events.duration_ns[trace.gpu[row].event]; }
  /// Of the first work: later ones of a graph wait for each other, not for the call.
  std::int64_t signed_delay(const LaunchCall& call) const {
    return signed_delay_ns(trace, call.call, call.rows.front());
  }
  std::int64_t delay_ns(const LaunchCall& call) const {
    return std::max<std::int64_t>(0, signed_delay(call));
  }
  /// A kernel shorter than its launch call: a stream of such kernels is CPU-bound.
  bool is_short(const LaunchCall& call) const {
    return call.kind == LaunchKind::kKernel && gpu_ns(call.rows.front()) < call_ns(call);
  }
};

/// A change of a queue: from now on `length` works are launched and not started.
struct QueueStep {
  std::int64_t at_ns = 0;
  std::int64_t length = 0;
  bool operator==(const QueueStep&) const = default;
};

struct StreamQueue {
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::size_t works = 0;  ///< only those with a launch
  std::size_t without_launch = 0;
  std::vector<QueueStep> steps;  ///< by time, distinct lengths; the last is 0
};

/// By (device, stream). Work is queued from the start of its launch to its own start (each work of a graph
/// separately); never if it starts before its launch (differing clocks). `launch` is launches(trace).
std::vector<StreamQueue> queue_lengths(const Trace& trace, std::span<const std::uint32_t> launch);

/// By NameId, the time of an unblocked launch call, ns: the 10th percentile, over all launches for rare
/// names. `launch` is launches(trace). O(n).
std::vector<std::int64_t> usual_call_ns(const Trace& trace, std::span<const std::uint32_t> launch);

struct QueuedLaunch {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t own_ns = 0;  ///< of the call when not blocked
  std::int64_t start_ns = 0;
};

struct FullQueue {
  std::size_t depth = 0;               ///< launches queued before the next blocks; 0: unknown
  std::vector<std::uint32_t> blocker;  ///< by launch: the one whose start made room; kNone: not blocked
  std::int64_t usual_tail_ns = 0;      ///< from that start until the blocked call returns
};

/// Finds the full queue of one stream; launches are in the order of their work. A blocked call takes longer
/// than usual and returns just after the work `depth` launches earlier started; `depth` is learnt from
/// successive blocked calls at the greatest queue length (1,024 on CUDA). O(n log n).
FullQueue full_queue(std::span<const QueuedLaunch> launches);

struct QueueSummary {
  std::int64_t span_ns = 0;
  std::int64_t max_length = 0;
  double length_ns = 0;
  std::int64_t empty_ns = 0;
  std::int64_t blocked_ns = 0;  ///< time with `limit` or more queued: the next launch blocks
};
QueueSummary summarize(const std::vector<QueueStep>& steps, std::int64_t limit);

}  // namespace headroom::trace
