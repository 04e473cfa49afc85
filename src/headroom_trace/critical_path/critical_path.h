// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/work/idle_culprits.h"

namespace headroom::trace {

/// A KernelType or a HostActivity.
enum class PathClass : std::uint8_t { kGpuCompute, kGpuCommunication, kGpuCopy, kHost };
inline constexpr std::size_t kKernelTypes = static_cast<std::size_t>(PathClass::kHost);
inline constexpr std::size_t kPathClasses = kKernelTypes + kHostActivities;
constexpr PathClass path_class(KernelType type) {
  return static_cast<PathClass>(type);
}
constexpr PathClass path_class(HostActivity doing) {
  return static_cast<PathClass>(kKernelTypes + static_cast<std::size_t>(doing));
}
const char* to_string(PathClass kind);

struct PathLink {
  Span time;
  PathClass kind = PathClass::kHost;
  std::uint32_t event = kNone;  ///< row of Trace::events; kNone if nothing is recorded
  std::int64_t length_ns() const { return time.end - time.start; }
};

/// Returns Replay::chain() with host time cut by host activity (host_parts) and delays over the usual launch
/// latency given to the device (DeviceGap). In order of time, without holes, from the window's start to the
/// end of the host or of the last work launched in it. Needs kLaunches and kOps; kPython adds functions.
/// O(n log n).
std::vector<PathLink> critical_path(const TraceIndex& index, Span window);

}  // namespace headroom::trace
