// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/launches.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom_cuda/kernels/launch_kernel.h"
#include "headroom_cuda/kernels/streamed_kernels.cuh"
#include "headroom_cuda/kernels/token_kernels.cuh"

namespace headroom::cuda {
inline namespace token_pass_cu {

/// Kernels in the order of kStreamDepths.
template <typename... Parameters>
struct RowsKernels {
  using Kernel = void (*)(StreamedMatrix, unsigned, bool, Parameters...);
  Kernel int8[std::size(kStreamDepths)], bf16[std::size(kStreamDepths)];
};

/// One preference for all kernels of a pass avoids reconfiguration.
LaunchShape pass_shape(unsigned blocks, unsigned threads, std::size_t shared_bytes = 0) {
  return {blocks, threads, shared_bytes, true};
}

template <typename... Parameters>
void launch_rows(const char* name, const RowsKernels<Parameters...>& kernels, const StreamedMatrix& matrix,
                 std::string_view dtype, const StreamPlan& plan, cudaStream_t stream, Parameters... rest) {
  const auto depth =
      std::find(std::begin(kStreamDepths), std::end(kStreamDepths), plan.depth) - std::begin(kStreamDepths);
  const auto kernel = (dtype == "int8" ? kernels.int8 : kernels.bf16)[depth];
  const LaunchShape shape =
      pass_shape(plan.blocks(), plan.threads,
                 plan.shared_bytes(std::size_t{matrix.rows} * matrix.slots, matrix.columns));
  launch_kernel(name, kernel, shape, plan.start, stream, matrix, plan.teams, plan.late, rest...);
}

#define HEADROOM_ROWS_KERNELS(kernel)                                                    \
  {                                                                                      \
    {&kernel<Int8Weights, kStreamDepths[0]>, &kernel<Int8Weights, kStreamDepths[1]>,     \
     &kernel<Int8Weights, kStreamDepths[2]>},                                            \
        {&kernel<Bf16Weights, kStreamDepths[0]>, &kernel<Bf16Weights, kStreamDepths[1]>, \
         &kernel<Bf16Weights, kStreamDepths[2]>},                                        \
  }

}  // namespace token_pass_cu

void launch_normed_rows(const StreamedMatrix& matrix, const char* dtype, const NormedStream& x, float* y,
                        const StreamPlan& plan, cudaStream_t stream) {
  const RowsKernels<NormedStream, float*> kernels HEADROOM_ROWS_KERNELS(normed_rows_kernel);
  launch_rows("normed_rows_kernel", kernels, matrix, dtype, plan, stream, x, y);
}

void launch_gated_rows(const StreamedMatrix& matrix, const char* dtype, const NormedStream& x,
                       std::uint16_t* hidden, const StreamPlan& plan, cudaStream_t stream) {
  const RowsKernels<NormedStream, std::uint16_t*> kernels HEADROOM_ROWS_KERNELS(gated_rows_kernel);
  launch_rows("gated_rows_kernel", kernels, matrix, dtype, plan, stream, x, hidden);
}

void launch_added_rows(const StreamedMatrix& matrix, const char* dtype, const std::uint16_t* x, float* to,
                       const float* share, const StreamPlan& plan, cudaStream_t stream) {
  const RowsKernels<const std::uint16_t*, float*, const float*> kernels HEADROOM_ROWS_KERNELS(
      added_rows_kernel);
  launch_rows("added_rows_kernel", kernels, matrix, dtype, plan, stream, x, to, share);
}

#undef HEADROOM_ROWS_KERNELS

void launch_embed(const TokenSequence& sequence, const std::uint16_t* embedding, float* x, unsigned columns,
                  Start start, cudaStream_t stream) {
  launch_kernel("embed_kernel", &embed_kernel, pass_shape(1, kTokenThreads), start, stream, sequence,
                embedding, x, columns);
}

bool has_attention(std::size_t head_dim) {
  return head_dim == 64 || head_dim == 128 || head_dim == 256;
}

void launch_attention(const AttentionProblem& problem, std::size_t head_dim, Start start,
                      cudaStream_t stream) {
  if (!has_attention(head_dim)) throw Error("no attention kernel for heads of " + std::to_string(head_dim));
  const auto kernel = head_dim == 64    ? &attention_kernel<2>
                      : head_dim == 128 ? &attention_kernel<4>
                                        : &attention_kernel<8>;
  launch_kernel("attention_kernel", kernel, pass_shape(problem.heads * problem.splits, kAttentionThreads),
                start, stream, problem);
}

void launch_route(const RouteProblem& problem, Start start, cudaStream_t stream) {
  launch_kernel("route_kernel", &route_kernel, pass_shape(1, kTokenThreads), start, stream, problem);
}

void launch_sample(const SampleProblem& problem, Start start, cudaStream_t stream) {
  launch_kernel("sample_kernel", &sample_kernel, pass_shape(1, kSampleThreads), start, stream, problem);
}

}  // namespace headroom::cuda
