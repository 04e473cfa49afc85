// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/launches.h"

#include "headroom/base/error.h"
#include "headroom_cuda/kernels/launch_kernel.h"
#include "headroom_cuda/kernels/norm_kernels.cuh"

namespace headroom::cuda {
inline namespace norm_cu {

using Kernel = void (*)(NormProblem);

Kernel kernel_of(const NormPlan& plan) {
  switch (plan.form.vectors) {
    case 0:
      return plan.aligned ? &long_norm_kernel<true> : &long_norm_kernel<false>;
    case 1:
      return plan.aligned ? &norm_kernel<1, true> : &norm_kernel<1, false>;
    case 2:
      return plan.aligned ? &norm_kernel<2, true> : &norm_kernel<2, false>;
    case 4:
      return plan.aligned ? &norm_kernel<4, true> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace norm_cu

void launch_norm(const NormProblem& problem, const NormPlan& plan, cudaStream_t stream) {
  const Kernel kernel = kernel_of(plan);
  if (kernel == nullptr) throw Error("no LayerNorm kernel has the form " + plan.name());
  launch_kernel("norm_kernel", kernel, {plan.blocks, plan.threads}, plan.start, stream, problem);
}

}  // namespace headroom::cuda
