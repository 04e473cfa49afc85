// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// The kind of work that a call launched.
enum class LaunchKind : std::uint8_t { kKernel, kMemcpy, kMemset, kGraph };
const char* to_string(LaunchKind kind);

/// A CPU call and the GPU work with its correlation: one piece, or the many of a graph.
struct LaunchCall {
  std::uint32_t call = 0;           ///< row of Trace::events
  std::vector<std::uint32_t> rows;  ///< of Trace::gpu, by start
  LaunchKind kind = LaunchKind::kKernel;
};

/// Returns the calls that launched work, by start. Any runtime or driver event with correlated work counts,
/// whatever its name. A call with several pieces of work, or named "...GraphLaunch", is a graph. `launch` is
/// launches(trace).
std::vector<LaunchCall> launch_calls(const Trace& trace, std::span<const std::uint32_t> launch);

/// Returns the time from the end of the call to the start of the work, ns; negative if the work began before
/// the call returned. HTA and our tables show negative delays as 0.
std::int64_t signed_delay_ns(const Trace& trace, std::uint32_t call, std::uint32_t row);

/// The launches of one trace, for all launch tables.
struct Launches {
  const Trace& trace;
  std::vector<std::uint32_t> launch;  ///< launches(): by row of Trace::gpu
  std::vector<std::uint32_t> op;      ///< launching_ops(): by row of Trace::gpu
  std::vector<LaunchCall> calls;

  explicit Launches(const Trace& of);
  std::int64_t call_ns(const LaunchCall& call) const { return trace.events.duration_ns[call.call]; }
  std::int64_t gpu_ns(std::uint32_t row) const { return trace.events.duration_ns[trace.gpu[row].event]; }
  /// Delay of the first piece of work: the later ones of a graph wait for each other, not for the call.
  std::int64_t signed_delay(const LaunchCall& call) const {
    return signed_delay_ns(trace, call.call, call.rows.front());
  }
  std::int64_t delay_ns(const LaunchCall& call) const {
    return std::max<std::int64_t>(0, signed_delay(call));
  }
  /// A kernel shorter than the call that launched it: a stream of such kernels is CPU-bound.
  bool is_short(const LaunchCall& call) const {
    return call.kind == LaunchKind::kKernel && gpu_ns(call.rows.front()) < call_ns(call);
  }
};

/// From at_ns to the next step, `length` pieces of work are launched and not started.
struct QueueStep {
  std::int64_t at_ns = 0;
  std::int64_t length = 0;
  bool operator==(const QueueStep&) const = default;
};

/// The queue of one stream over time.
struct StreamQueue {
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::size_t works = 0;           ///< with a launch; only these count
  std::size_t without_launch = 0;  ///< left out
  std::vector<QueueStep> steps;    ///< by time, neighbours differ in length; the last is empty
};

/// Returns the queue of each (device, stream) with work, in that order. Work is in the queue from the start
/// of its launch to its own start (every piece of a graph separately); work that starts before its launch
/// (differing clocks) never is. Changes at one instant are one step. `launch` is launches(trace).
std::vector<StreamQueue> queue_lengths(const Trace& trace, std::span<const std::uint32_t> launch);

/// Returns by NameId the time that a launch call of that name takes when nothing holds it up, ns: the 10th
/// percentile, of all launches for names with few. `launch` is launches(trace). O(n).
std::vector<std::int64_t> usual_call_ns(const Trace& trace, std::span<const std::uint32_t> launch);

/// A launch call and the start of its first work.
struct QueuedLaunch {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t own_ns = 0;  ///< of the call, when nothing holds it up
  std::int64_t start_ns = 0;
};

/// Launches that blocked because the queue of their stream was full.
struct FullQueue {
  std::size_t depth = 0;  ///< launches that wait before the next one blocks; 0: unknown
  std::vector<std::uint32_t>
      blocker;                     ///< by launch: the one whose start made room for it; kNone: not blocked
  std::int64_t usual_tail_ns = 0;  ///< from that start until the blocked call returns
};

/// Finds the full queue of one stream, whose launches come in the order of their work. A call has blocked if
/// it took longer than usual and returned just after the work `depth` launches before it started. The depth
/// is learnt from calls that block one after another when the queue is as long as it ever gets: 1,024 on
/// CUDA, other numbers elsewhere. O(n log n).
FullQueue full_queue(std::span<const QueuedLaunch> launches);

/// Summary of a queue from its first step to its last.
struct QueueSummary {
  std::int64_t span_ns = 0;
  std::int64_t max_length = 0;
  double length_ns = 0;         ///< the length integrated over time; over span_ns it is the mean
  std::int64_t empty_ns = 0;    ///< nothing waits: the device had caught up with the host
  std::int64_t blocked_ns = 0;  ///< `limit` or more wait: the next launch blocks the host
};
QueueSummary summarize(const std::vector<QueueStep>& steps, std::int64_t limit);

}  // namespace headroom::trace
