// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/linear.h"

#include "headroom_cuda/kernels/linear_kernels.cuh"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

template <int kVectors, int kRows, bool kAligned>
void launch_early(const NormedLinearProblem& problem, const GemvPlan& plan, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = plan.blocks;
  config.blockDim = plan.threads();
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, &normed_linear_kernel<kVectors, kRows, kAligned>, problem,
                           plan.team_threads),
        "normed_linear_kernel");
}

template <int kVectors, int kRows, bool kAligned>
void launch(const NormedLinearProblem& problem, const GemvPlan& plan, Start start, cudaStream_t stream) {
  if (start == Start::kEarly) return launch_early<kVectors, kRows, kAligned>(problem, plan, stream);
  normed_linear_kernel<kVectors, kRows, kAligned>
      <<<plan.blocks, plan.threads(), 0, stream>>>(problem, plan.team_threads);
  check_launch("normed_linear_kernel");
}

}  // namespace

void launch_linear(const LinearProblem& problem, const GemvPlan& plan, cudaStream_t stream) {
  if (plan.aligned) {
    linear_kernel<kLinearForm.vectors, kLinearForm.rows, true>
        <<<plan.blocks, plan.threads(), 0, stream>>>(problem, plan.team_threads);
  } else {
    linear_kernel<kUnalignedForm.vectors, kUnalignedForm.rows, false>
        <<<plan.blocks, plan.threads(), 0, stream>>>(problem, plan.team_threads);
  }
  check_launch("linear_kernel");
}

void launch_normed_linear(const NormedLinearProblem& problem, const GemvPlan& plan, Start start,
                          cudaStream_t stream) {
  if (plan.aligned) {
    launch<kLinearForm.vectors, kLinearForm.rows, true>(problem, plan, start, stream);
  } else {
    launch<kUnalignedForm.vectors, kUnalignedForm.rows, false>(problem, plan, start, stream);
  }
}

}  // namespace headroom::cuda
