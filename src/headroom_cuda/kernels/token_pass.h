// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "headroom_cuda/kernels/launch_start.h"
#include "headroom_cuda/kernels/stream_plan.h"
#include "headroom_cuda/kernels/streamed_problem.h"

/// The launches of a decoder. None waits. All throw Error where the device refuses them.
namespace headroom::cuda {

/// y = W RMSNorm(x) in f32. `dtype` of the weights is "int8" or "bf16" here and below.
void launch_normed_rows(const StreamedMatrix& matrix, const char* dtype, const NormedStream& x, float* y,
                        const StreamPlan& plan, cudaStream_t stream);
/// hidden = silu(W1 n) W3 n with n = RMSNorm(x), bf16; rows of W1 and W3 take turns.
void launch_gated_rows(const StreamedMatrix& matrix, const char* dtype, const NormedStream& x,
                       std::uint16_t* hidden, const StreamPlan& plan, cudaStream_t stream);
/// to += W x, times *share where there is one.
void launch_added_rows(const StreamedMatrix& matrix, const char* dtype, const std::uint16_t* x, float* to,
                       const float* share, const StreamPlan& plan, cudaStream_t stream);

/// Takes the next token of the sequence, which becomes the one under way.
void launch_embed(const TokenSequence& sequence, const std::uint16_t* embedding, float* x, unsigned columns,
                  Start start, cudaStream_t stream);
/// Whether there is a kernel for heads of this size: 64, 128 and 256.
bool has_attention(std::size_t head_dim);
void launch_attention(const AttentionProblem& problem, std::size_t head_dim, Start start,
                      cudaStream_t stream);
void launch_route(const RouteProblem& problem, Start start, cudaStream_t stream);
/// Puts a token behind the one under way.
void launch_sample(const SampleProblem& problem, Start start, cudaStream_t stream);

}  // namespace headroom::cuda
