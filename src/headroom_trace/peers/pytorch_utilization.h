// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {

struct PyTorchUtilization {
  double utilization = 0;          ///< busy time over the length
  double mm_conv_utilization = 0;  ///< same, for names with gemm, conv, cutlass or wgrad
};

/// Needs of pytorch_utilization, which counts annotations and Python calls too.
inline constexpr Needs kPyTorchUtilizationNeeds =
    Needs::kLaunches | Needs::kOps | Needs::kPython | Needs::kSyncs | Needs::kOthers | Needs::kPreciseTimes;

/// Computes the same as compute_utilization of PyTorch's torch/_functorch/benchmark_utils.py, bit for bit:
/// the union of every complete event of every process labelled as a GPU, over `length_s`, the run's seconds
/// without the profiler. Not the device's utilisation: see docs/trace.md. Needs kPyTorchUtilizationNeeds.
/// Throws Error for a length of zero or less.
PyTorchUtilization pytorch_utilization(const Trace& trace, double length_s);

/// Its naming rule, on which the golden figures of other tools rest.
bool is_pytorch_matmul_or_convolution(std::string_view name);

}  // namespace headroom::trace
