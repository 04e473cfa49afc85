// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headroom_trace/columns/host_order.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// True if the trace has calls of the runtime or driver.
bool has_launchers(const Trace& trace);

/// Returns, by row of trace.gpu, the runtime or driver event with the same correlation; kNone if absent. A
/// graph launch has many rows. Needs kLaunches.
std::vector<std::uint32_t> launches(const Trace& trace);

/// Calls `take` for each call whose name says that it launches work, in the order of Trace::events, and
/// whether work with its correlation is in the file. Needs kLaunches.
void for_each_launch_call(const Trace& trace,
                          const std::function<void(std::uint32_t call, bool has_work)>& take);

/// Returns, by row of trace.gpu, the innermost cpu_op around its launch, else the op with its external id,
/// else kNone. `launch` is launches(trace). Needs kLaunches and kOps.
std::vector<std::uint32_t> launching_ops(const Trace& trace, std::span<const std::uint32_t> launch);
/// Same, for callers that have the parents by at least kCpuOp of launches and ops.
std::vector<std::uint32_t> launching_ops(const Trace& trace, std::span<const std::uint32_t> launch,
                                         const std::vector<std::uint32_t>& parent);

/// Marks the rows of trace.gpu that are matrix products or convolutions: by the ops above the launch
/// (aten::mm, aten::convolution...), or by the kernel's name where no op is known (a compiled region, a
/// graph, a custom op). Generic kernels under such an op (is_generic_kernel), copies and sets do not count.
/// Needs kLaunches and kOps.
std::vector<bool> matmul_or_convolution(const Trace& trace);

/// Same by kernel names alone; needs only the GPU work.
std::vector<bool> matmul_or_convolution_by_name(const Trace& trace);

}  // namespace headroom::trace
