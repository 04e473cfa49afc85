// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headroom_trace/columns/host_order.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

bool has_launchers(const Trace& trace);

/// By row of trace.gpu, the call with the same correlation, or kNone. Needs kLaunches.
std::vector<std::uint32_t> launches(const Trace& trace);

/// In the order of Trace::events. Needs kLaunches.
void for_each_launch_call(const Trace& trace,
                          const std::function<void(std::uint32_t call, bool has_work)>& take);

/// By row of trace.gpu, the innermost cpu_op around the launch, else the op with its external id, else kNone.
/// Needs kLaunches and kOps.
std::vector<std::uint32_t> launching_ops(const Trace& trace, std::span<const std::uint32_t> launch);
/// Takes the parents (at least kCpuOp) of launches and ops.
std::vector<std::uint32_t> launching_ops(const Trace& trace, std::span<const std::uint32_t> launch,
                                         const std::vector<std::uint32_t>& parent);

/// Marks rows of trace.gpu by the ops above the launch, or by kernel name if no op is known (compiled
/// regions, graphs, custom ops). Excludes generic kernels, copies and sets. Needs kLaunches and kOps.
std::vector<bool> matmul_or_convolution(const Trace& trace);

/// Needs only the GPU work.
std::vector<bool> matmul_or_convolution_by_name(const Trace& trace);

}  // namespace headroom::trace
