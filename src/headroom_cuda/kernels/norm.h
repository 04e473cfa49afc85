// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "headroom_cuda/kernels/norm_plan.h"
#include "headroom_cuda/kernels/norm_problem.h"

namespace headroom::cuda {

/// LayerNorm of rows of bf16. Returns without waiting. Throws Error where the device refuses the launch.
void launch_norm(const NormProblem& problem, const NormPlan& plan, cudaStream_t stream);

}  // namespace headroom::cuda
