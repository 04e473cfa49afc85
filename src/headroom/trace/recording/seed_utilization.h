// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace {

struct SeedUtilization {
  double utilization = 0;          ///< busy time over the length
  double mm_conv_utilization = 0;  ///< the same of what is named gemm, conv, cutlass or wgrad
};

/// What seed_utilization must have read: it counts annotations and Python calls too.
inline constexpr Needs kSeedUtilizationNeeds =
    Needs::kLaunches | Needs::kOps | Needs::kPython | Needs::kSyncs | Needs::kOthers | Needs::kPreciseTimes;

/// What compute_utilization of PyTorch's torch/_functorch/benchmark_utils.py answers, to the last bits of its
/// floating point: the union of every complete event of every process that is labelled as a GPU, over
/// `length_s`, the run's seconds without the profiler. Not what a device did: see docs/trace.md. Needs
/// kSeedUtilizationNeeds. Throws Error for a length of zero or less.
SeedUtilization seed_utilization(const Trace& trace, double length_s);

/// Its rule of names, on which the golden figures of other tools rest.
bool is_seed_matmul_or_convolution(std::string_view name);

}  // namespace headroom::trace
