// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// The event that launched each row of trace.gpu: the runtime or driver event with its correlation; kNone
/// where there is none. One launch of a graph has many rows. Needs kLaunches.
std::vector<std::uint32_t> launches(const Trace& trace);

using CategoryMask = std::uint32_t;
constexpr CategoryMask mask_of(Category category) {
  return 1U << static_cast<unsigned>(category);
}
inline constexpr CategoryMask kOnCpu = mask_of(Category::kRuntime) | mask_of(Category::kDriver) |
                                       mask_of(Category::kCpuOp) | mask_of(Category::kUserAnnotation) |
                                       mask_of(Category::kPython);

/// The events of these categories thread by thread, what encloses before what it encloses: by start, longest
/// first.
std::vector<std::uint32_t> nesting_order(const Trace& trace, CategoryMask categories);

/// What the host did, sorted once for all that walk over it.
struct HostOrder {
  std::vector<std::uint32_t> events;  ///< nesting_order of kOnCpu
  std::vector<std::uint32_t>
      parent;  ///< by row of Trace::events: the innermost of them that encloses it; or kNone
};
HostOrder host_order(const Trace& trace);

/// The event of trace.events that encloses each event on its CPU thread (the innermost whose category is in
/// `categories`), kNone for none and for events whose category is not in `of`. In nesting order; an event
/// that ends after its parent is still its child.
std::vector<std::uint32_t> parents(const Trace& trace, CategoryMask categories, CategoryMask of = kOnCpu);

/// The innermost cpu_op that launched each row of trace.gpu: the op that encloses its launch, else the op
/// with its external id; kNone for none. Needs kLaunches and kOps.
std::vector<std::uint32_t> launching_ops(const Trace& trace);
/// The same for who has the parents already, by at least kCpuOp of launches and ops.
std::vector<std::uint32_t> launching_ops(const Trace& trace, const std::vector<std::uint32_t>& parent);

/// Which rows of trace.gpu are matrix products or convolutions: by the chain of ops above the launch where
/// one of them is (aten::mm, aten::convolution...), by the kernel's name where none is (a compiled region, a
/// graph, a custom op). A generic kernel under such an op (a copy, a fill, a conversion: is_generic_kernel)
/// is not. Copies and sets never are. Needs kLaunches and kOps.
std::vector<bool> matmul_or_convolution(const Trace& trace);

/// The same by the kernels' names alone, which needs nothing but the GPU work.
std::vector<bool> matmul_or_convolution_by_name(const Trace& trace);

}  // namespace headroom::trace
