// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/norm_kernels.cuh"

namespace headroom::cuda {

/// LayerNorm of rows that are too long for the registers of a block. Each is read three times: from memory
/// once, then from the second-level cache, which holds one row for every block.
template <bool kAligned>
__global__ void __launch_bounds__(kLongNormForm.threads, kLongNormForm.blocks)
    long_norm_kernel(NormProblem problem) {
  __shared__ float totals[2][kMostWarps];
  const auto count = static_cast<float>(problem.columns);
  const std::size_t row_bytes = std::size_t{problem.columns} * sizeof(std::uint16_t);
  const unsigned vectors = NormColumns<1>(problem, 0).vectors;
  for (unsigned row = blockIdx.x; row < problem.rows; row += gridDim.x) {
    NormRow<1, kAligned> part;
    float sum = 0;
    for (unsigned from = 0; from < vectors; from += blockDim.x) {
      part.load(problem, NormColumns<1>(problem, from), row);
      sum += part.sum();
    }
    const float mean = block_sum(sum, totals[0]) / count;
    float squares = 0;
    for (unsigned from = 0; from < vectors; from += blockDim.x) {
      const NormColumns<1> columns(problem, from);
      part.load(problem, columns, row);
      squares += part.squared_differences(columns, mean);
    }
    squares = block_sum(squares, totals[1]);
    const RowStatistics found{mean, reciprocal_root(squares / count + problem.epsilon)};
    auto* const y = reinterpret_cast<std::byte*>(problem.y) + row * row_bytes;
    for (unsigned from = 0; from < vectors; from += blockDim.x) {
      const NormColumns<1> columns(problem, from);
      part.load(problem, columns, row);
      float gamma[kNormLength], beta[kNormLength];
      load_parameters(problem.gamma, columns.vector(0) * kNormLength, columns.length(0), gamma);
      load_parameters(problem.beta, columns.vector(0) * kNormLength, columns.length(0), beta);
      store_row_vector<kAligned>(y, row_bytes, columns.vector(0), vectors,
                                 normed(part.vectors[0], found, gamma, beta));
    }
    __syncthreads();
  }
}

}  // namespace headroom::cuda
