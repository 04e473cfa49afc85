// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/launches.h"

#include "headroom_cuda/kernels/launch_kernel.h"
#include "headroom_cuda/kernels/linear_kernels.cuh"

namespace headroom::cuda {

void launch_linear(const LinearProblem& problem, const GemvPlan& plan, Start start, cudaStream_t stream) {
  const auto kernel = plan.aligned ? &linear_kernel<kLinearForm.vectors, kLinearForm.rows, true>
                                   : &linear_kernel<kUnalignedForm.vectors, kUnalignedForm.rows, false>;
  launch_kernel("linear_kernel", kernel, {plan.blocks, plan.threads()}, start, stream, problem,
                plan.team_threads);
}

void launch_normed_linear(const NormedLinearProblem& problem, const GemvPlan& plan, Start start,
                          cudaStream_t stream) {
  const auto kernel = plan.aligned
                          ? &normed_linear_kernel<kLinearForm.vectors, kLinearForm.rows, true>
                          : &normed_linear_kernel<kUnalignedForm.vectors, kUnalignedForm.rows, false>;
  launch_kernel("normed_linear_kernel", kernel, {plan.blocks, plan.threads()}, start, stream, problem,
                plan.team_threads);
}

}  // namespace headroom::cuda
