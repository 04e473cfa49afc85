// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What a call put on a device.
enum class LaunchKind : std::uint8_t { kKernel, kMemcpy, kMemset, kGraph };
const char* to_string(LaunchKind kind);

/// A call on the CPU and the GPU work that has its correlation: one piece, or the many of a graph.
struct LaunchCall {
  std::uint32_t call = 0;           ///< row of Trace::events
  std::vector<std::uint32_t> rows;  ///< of Trace::gpu, by start
  LaunchKind kind = LaunchKind::kKernel;
};

/// The calls that launched something, by their start. Any runtime or driver event that has correlated work is
/// one, whatever its name. A graph is a call with several pieces of work, or one whose name says so
/// ("...GraphLaunch"). `launch` is what launches() gave.
std::vector<LaunchCall> launch_calls(const Trace& trace, std::span<const std::uint32_t> launch);

/// From the end of the call to the start of the work, ns: negative where the work began before the call had
/// returned. The delay as HTA and the tables have it is this, or 0 where it is negative.
std::int64_t signed_delay_ns(const Trace& trace, std::uint32_t call, std::uint32_t row);

/// The launches of one file, with what every table wants of them.
struct Launches {
  const Trace& trace;
  std::vector<std::uint32_t> launch;  ///< launches(): by row of Trace::gpu
  std::vector<std::uint32_t> op;      ///< launching_ops(): by row of Trace::gpu
  std::vector<LaunchCall> calls;

  explicit Launches(const Trace& of);
  std::int64_t call_ns(const LaunchCall& call) const { return trace.events.duration_ns[call.call]; }
  std::int64_t gpu_ns(std::uint32_t row) const { return trace.events.duration_ns[trace.gpu[row].event]; }
  /// Of the first piece of work: those after it in a graph wait for each other, not for the call.
  std::int64_t signed_delay(const LaunchCall& call) const {
    return signed_delay_ns(trace, call.call, call.rows.front());
  }
  std::int64_t delay_ns(const LaunchCall& call) const {
    return std::max<std::int64_t>(0, signed_delay(call));
  }
  /// A kernel that ends sooner than the call that started it took: a stream of them is bound by the CPU.
  bool is_short(const LaunchCall& call) const {
    return call.kind == LaunchKind::kKernel && gpu_ns(call.rows.front()) < call_ns(call);
  }
};

}  // namespace headroom::trace
