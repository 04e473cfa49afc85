// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "headroom_cuda/kernels/gemv_plan.h"
#include "headroom_cuda/kernels/gemv_problem.h"
#include "headroom_cuda/kernels/launch_start.h"

namespace headroom::cuda {

/// W x + bias. Returns without waiting, as launch_normed_linear. Throws Error where the device refuses it.
void launch_linear(const LinearProblem& problem, const GemvPlan& plan, Start start, cudaStream_t stream);

/// LayerNorm(W LayerNorm(x) + bias), `x` being what the launch before it in the stream makes.
void launch_normed_linear(const NormedLinearProblem& problem, const GemvPlan& plan, Start start,
                          cudaStream_t stream);

}  // namespace headroom::cuda
