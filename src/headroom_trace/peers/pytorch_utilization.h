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

/// Annotations and Python calls count too.
inline constexpr Needs kPyTorchUtilizationNeeds =
    Needs::kLaunches | Needs::kOps | Needs::kPython | Needs::kSyncs | Needs::kOthers | Needs::kPreciseTimes;

/// compute_utilization of PyTorch's torch/_functorch/benchmark_utils.py, bit for bit: the union of all
/// complete events of processes labelled as a GPU over `length_s`, the run's seconds without the profiler.
/// Not device utilisation: see docs/reference/trace-roofline.md. Needs kPyTorchUtilizationNeeds. Throws Error
/// unless the length is positive.
PyTorchUtilization pytorch_utilization(const Trace& trace, double length_s);

bool is_pytorch_matmul_or_convolution(std::string_view name);

}  // namespace headroom::trace
