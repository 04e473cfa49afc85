// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headroom_cuda/kernels/kernel_plan.h"

namespace headroom::cuda {

// Launches return without waiting, and throw Error if the device refuses.

/// Converts weights for libraries that cannot multiply int8 with bf16.
void launch_convert(const std::int8_t* from, std::uint16_t* to, std::size_t count, unsigned processors,
                    cudaStream_t stream);

/// gemv or gather_gemv. `dtype` (of the weights): "int8" or "bf16".
void launch_gemv(const GemvProblem& problem, std::string_view dtype, const GemvPlan& plan,
                 cudaStream_t stream);

/// W x + bias.
void launch_linear(const LinearProblem& problem, const GemvPlan& plan, Start start, cudaStream_t stream);

/// LayerNorm(W LayerNorm(x) + bias); the previous launch must write `x`.
void launch_normed_linear(const NormedLinearProblem& problem, const GemvPlan& plan, Start start,
                          cudaStream_t stream);

void launch_norm(const NormProblem& problem, const NormPlan& plan, cudaStream_t stream);

// Decoder kernels. `dtype` (of the weights): "int8" or "bf16".

/// y = W RMSNorm(x) in f32.
void launch_normed_rows(const StreamedMatrix& matrix, const char* dtype, const NormedStream& x, float* y,
                        const StreamPlan& plan, cudaStream_t stream);
/// hidden = silu(W1 n) W3 n with n = RMSNorm(x), bf16; rows of W1 and W3 alternate.
void launch_gated_rows(const StreamedMatrix& matrix, const char* dtype, const NormedStream& x,
                       std::uint16_t* hidden, const StreamPlan& plan, cudaStream_t stream);
/// to += *share W x; null: 1.
void launch_added_rows(const StreamedMatrix& matrix, const char* dtype, const std::uint16_t* x, float* to,
                       const float* share, const StreamPlan& plan, cudaStream_t stream);

/// The next token becomes the current one.
void launch_embed(const TokenSequence& sequence, const std::uint16_t* embedding, float* x, unsigned columns,
                  Start start, cudaStream_t stream);
/// True for sizes with a kernel (64, 128, 256).
bool has_attention(std::size_t head_dim);
void launch_attention(const AttentionProblem& problem, std::size_t head_dim, Start start,
                      cudaStream_t stream);
void launch_route(const RouteProblem& problem, Start start, cudaStream_t stream);
void launch_sample(const SampleProblem& problem, Start start, cudaStream_t stream);

}  // namespace headroom::cuda
