// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "headroom/base/error.h"
#include "headroom_cuda/kernels/gemv_kernels.cuh"
#include "headroom_cuda/kernels/launch_kernel.h"
#include "headroom_cuda/kernels/launches.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
inline namespace gemv_cu {

using Kernel = void (*)(GemvProblem, unsigned);

template <typename Weights, std::size_t... kIndex>
Kernel aligned_kernel(GemvForm form, std::index_sequence<kIndex...> /*of*/) {
  Kernel found = nullptr;
  const auto consider = [&](GemvForm candidate, Kernel kernel) {
    if (candidate.vectors == form.vectors && candidate.rows == form.rows) found = kernel;
  };
  (consider(kGemvForms[kIndex],
            &gemv_kernel<Weights, kGemvForms[kIndex].vectors, kGemvForms[kIndex].rows, true>),
   ...);
  return found;
}

template <typename Weights>
Kernel kernel_of(const GemvPlan& plan) {
  if (!plan.aligned) return &gemv_kernel<Weights, kUnalignedForm.vectors, kUnalignedForm.rows, false>;
  return aligned_kernel<Weights>(plan.form, std::make_index_sequence<kGemvForms.size()>{});
}

}  // namespace gemv_cu

void launch_convert(const std::int8_t* from, std::uint16_t* to, std::size_t count, unsigned processors,
                    cudaStream_t stream) {
  convert_kernel<<<8 * processors, 256, 0, stream>>>(from, to, count);
  check_launch("convert_kernel");
}

void launch_gemv(const GemvProblem& problem, std::string_view dtype, const GemvPlan& plan,
                 cudaStream_t stream) {
  const Kernel kernel = dtype == "int8" ? kernel_of<Int8Weights>(plan) : kernel_of<Bf16Weights>(plan);
  if (kernel == nullptr) throw Error("no gemv kernel has the form " + plan.name());
  launch_kernel("gemv_kernel", kernel, {plan.blocks, plan.threads()}, plan.start, stream, problem,
                plan.team_threads);
}

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
