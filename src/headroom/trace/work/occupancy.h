// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// A number of a kernel, and whether the file says it or it was worked out here.
struct KernelNumber {
  double value = 0;
  bool is_of_file = true;
};

/// Blocks of a kernel for each multiprocessor of its device: "blocks per SM", else its grid over the device's
/// multiprocessors. Nothing where the file has neither. Above 1 every multiprocessor had a block.
std::optional<KernelNumber> blocks_per_multiprocessor(const Trace& trace, const GpuDetail& kernel);

/// Achieved occupancy as a share: "est. achieved occupancy %", else the kernel's warps for each
/// multiprocessor over what one holds, at most 1. The latter is an upper bound: registers and shared memory
/// may hold it lower.
std::optional<KernelNumber> achieved_occupancy(const Trace& trace, const GpuDetail& kernel);

}  // namespace headroom::trace
