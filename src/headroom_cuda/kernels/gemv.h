// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "headroom_cuda/kernels/gemv_plan.h"
#include "headroom_cuda/kernels/gemv_problem.h"

namespace headroom::cuda {

/// gemv and gather_gemv with weights of `dtype`, "int8" or "bf16". Returns without waiting. Throws Error
/// where the device refuses the launch.
void launch_gemv(const GemvProblem& problem, std::string_view dtype, const GemvPlan& plan,
                 cudaStream_t stream);

}  // namespace headroom::cuda
