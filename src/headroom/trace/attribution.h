// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/trace/trace.h"

namespace headroom::trace {

/// The event that launched each row of trace.gpu: the runtime or driver event with its correlation; kNone
/// where there is none. One launch of a graph has many rows. Needs kLaunches.
std::vector<std::uint32_t> launches(const Trace& trace);

/// The event of trace.events that encloses each event on its CPU thread (the innermost whose category is in
/// `categories`), kNone for none and for events that are not on a CPU thread. By start, longest first; an
/// event that ends after its parent is cut there (it is still its child).
using CategoryMask = std::uint32_t;
constexpr CategoryMask mask_of(Category category) {
  return 1U << static_cast<unsigned>(category);
}
std::vector<std::uint32_t> parents(const Trace& trace, CategoryMask categories);

/// The innermost cpu_op that launched each row of trace.gpu: the op that encloses its launch, else the op
/// with its external id; kNone for none. Needs kLaunches and kOps.
std::vector<std::uint32_t> launching_ops(const Trace& trace);

/// Which rows of trace.gpu are matrix products or convolutions: by the chain of ops above the launch where
/// one is known, by the kernel's name where none is. A helper kernel (a copy, a fill, a type conversion)
/// under a matmul op counts as the op's only when its own name does not say otherwise.
std::vector<bool> matmul_or_convolution(const Trace& trace);

}  // namespace headroom::trace
