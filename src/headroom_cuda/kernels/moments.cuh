// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/gemv_problem.h"
#include "headroom_cuda/kernels/reductions.cuh"

/// Moments that threads, blocks and launches merge: by the formulas of Welford (1962) for one value more, and
/// of Chan, Golub and LeVeque (1979) for many parts.
namespace headroom::cuda {

__device__ inline void add(Moments& to, float value) {
  to.count += 1;
  const float difference = value - to.mean;
  to.mean += difference / to.count;
  to.squares = fmaf(difference, value - to.mean, to.squares);
}

/// Of what all threads of the block have; to every thread. Ends with a barrier.
__device__ inline Moments merged_over_block(const Moments& own) {
  __shared__ float counts[kMostWarps], means[kMostWarps], squares[kMostWarps];
  Moments whole;
  whole.count = block_sum(own.count, counts);
  const float sum = block_sum(own.count > 0 ? own.count * own.mean : 0, means);
  whole.mean = whole.count > 0 ? sum / whole.count : 0;
  const float apart = own.mean - whole.mean;
  whole.squares = block_sum(own.count > 0 ? fmaf(own.count * apart, apart, own.squares) : 0, squares);
  __syncthreads();
  return whole;
}

/// Merges what the blocks of a launch left.
__device__ inline Moments moments_of_launch(const UnnormedVector& vector) {
  Moments own;
  for (unsigned i = threadIdx.x; i < vector.blocks; i += blockDim.x) {
    const float* const from = &vector.moments[i].count;
    const Moments part{load_written(from), load_written(from + 1), load_written(from + 2)};
    const float count = own.count + part.count;
    if (count == 0) continue;
    const float apart = part.mean - own.mean;
    own.mean += apart * (part.count / count);
    own.squares += part.squares + apart * apart * (own.count * part.count / count);
    own.count = count;
  }
  return merged_over_block(own);
}

}  // namespace headroom::cuda
