// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// Metrics of a case that was traced, of unit "1": the time in which GPUs worked, and in which they worked on
/// what is named gemm, conv, cutlass or wgrad, over the time that the case takes without the recorder.
inline constexpr const char* kGpuUtilization = "gpu_utilization";
inline constexpr const char* kMmConvUtilization = "mm_conv_utilization";

}  // namespace headroom
