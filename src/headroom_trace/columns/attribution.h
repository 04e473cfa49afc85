// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Returns, by row of trace.gpu, the runtime or driver event with the same correlation; kNone if absent. A
/// graph launch has many rows. Needs kLaunches.
std::vector<std::uint32_t> launches(const Trace& trace);

using CategoryMask = std::uint32_t;
constexpr CategoryMask mask_of(Category category) {
  return 1U << static_cast<unsigned>(category);
}
inline constexpr CategoryMask kOnCpu = mask_of(Category::kRuntime) | mask_of(Category::kDriver) |
                                       mask_of(Category::kCpuOp) | mask_of(Category::kUserAnnotation) |
                                       mask_of(Category::kPython);

/// Returns the events of these categories by thread and start; enclosing events come before those they
/// enclose.
std::vector<std::uint32_t> nesting_order(const Trace& trace, CategoryMask categories);

/// The host events in nesting order, sorted once for every user.
struct HostOrder {
  std::vector<std::uint32_t> events;  ///< nesting_order of kOnCpu
  std::vector<std::uint32_t> parent;  ///< by row of Trace::events: the innermost enclosing event, or kNone
};
HostOrder host_order(const Trace& trace);

/// Returns, for each event whose category is in `of`, the innermost event of `categories` that encloses it on
/// its CPU thread; else kNone. An event that ends after its parent is still its child.
std::vector<std::uint32_t> parents(const Trace& trace, CategoryMask categories, CategoryMask of = kOnCpu);

/// Returns, by row of trace.gpu, the innermost cpu_op around its launch, else the op with its external id,
/// else kNone. Needs kLaunches and kOps.
std::vector<std::uint32_t> launching_ops(const Trace& trace);
/// Same, for callers that have the parents by at least kCpuOp of launches and ops.
std::vector<std::uint32_t> launching_ops(const Trace& trace, const std::vector<std::uint32_t>& parent);

/// Marks the rows of trace.gpu that are matrix products or convolutions: by the ops above the launch
/// (aten::mm, aten::convolution...), or by the kernel's name where no op is known (a compiled region, a
/// graph, a custom op). Generic kernels under such an op (is_generic_kernel), copies and sets do not count.
/// Needs kLaunches and kOps.
std::vector<bool> matmul_or_convolution(const Trace& trace);

/// Same by kernel names alone; needs only the GPU work.
std::vector<bool> matmul_or_convolution_by_name(const Trace& trace);

}  // namespace headroom::trace
