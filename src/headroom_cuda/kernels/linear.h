// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "headroom_cuda/kernels/gemv_plan.h"
#include "headroom_cuda/kernels/gemv_problem.h"

namespace headroom::cuda {

/// W x + bias. Returns without waiting, as launch_normed_linear. Throws Error where the device refuses it.
void launch_linear(const LinearProblem& problem, const GemvPlan& plan, cudaStream_t stream);

/// When a launch starts: once the one before it in the stream has ended, or, on devices of compute capability
/// 9.0 and later, as soon as there is room for its blocks; they load weights until the other has ended.
enum class Start { kBehindOther, kEarly };

/// LayerNorm(W LayerNorm(x) + bias), `x` being what the launch before it in the stream makes.
void launch_normed_linear(const NormedLinearProblem& problem, const GemvPlan& plan, Start start,
                          cudaStream_t stream);

}  // namespace headroom::cuda
