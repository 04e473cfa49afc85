// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/device_ops.cuh"
#include "headroom_cuda/kernels/gemv_kernels.cuh"
#include "headroom_cuda/kernels/kernel_plan.h"

/// Moments merged by Welford (1962) for single values and Chan, Golub and LeVeque (1979) for parts.

namespace headroom::cuda {

__device__ inline void add(Moments& to, float value) {
  to.count += 1;
  const float difference = value - to.mean;
  to.mean += difference / to.count;
  to.squares = fmaf(difference, value - to.mean, to.squares);
}

/// Merges the moments of all threads; every thread gets the result. Ends with a barrier.
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

// Linear layers fused with the LayerNorms around them: each block leaves the moments of its outputs, and
// every block of the next launch merges them.

struct NormedX {
  const UnnormedVector& vector;
  NormParameters parameters;
  unsigned count;
  bool prepared = false;
  float mean = 0, reciprocal = 0;

  __device__ void prepare() {
    if (prepared) return;
    prepared = true;
    wait_for_previous_launch();
    const Moments whole = moments_of_launch(vector);
    mean = whole.mean;
    reciprocal = reciprocal_root(whole.squares / whole.count + kLinearNormEpsilon);
  }

  __device__ float normed(float value, float gamma, float beta) const {
    return fmaf((value - mean) * reciprocal, gamma, beta);
  }

  __device__ float value(unsigned element) const {
    return normed(load_written(vector.values + element), bf16_value(parameters.gamma[element]),
                  bf16_value(parameters.beta[element]));
  }

  /// Returns eight values from `element` on, a multiple of 8.
  __device__ Vector eight(unsigned element) const {
    const Vector of_gamma = load_common(parameters.gamma + element);
    const Vector of_beta = load_common(parameters.beta + element);
    const Vector halves[2] = {load_written_vector(vector.values + element),
                              load_written_vector(vector.values + element + 4)};
    Vector result;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const float low = __uint_as_float(halves[i / 2].words[2 * i % 4]);
      const float high = __uint_as_float(halves[i / 2].words[2 * i % 4 + 1]);
      result.words[i] = bf16_pair(normed(low, low_bf16(of_gamma.words[i]), low_bf16(of_beta.words[i])),
                                  normed(high, high_bf16(of_gamma.words[i]), high_bf16(of_beta.words[i])));
    }
    return result;
  }

  template <unsigned kPairs>
  __device__ void fill(std::uint32_t (&pairs)[kPairs], unsigned element) const {
#pragma unroll
    for (unsigned part = 0; part < kPairs / 4; ++part) {
      const unsigned from = element + 8 * part;
      if (from + 8 <= count) {
        const Vector values = eight(from);
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) pairs[4 * part + i] = values.words[i];
        continue;
      }
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned at = from + 2 * i;
        if (at < count) pairs[4 * part + i] = bf16_pair(value(at), at + 1 < count ? value(at + 1) : 0);
      }
    }
  }
};

/// Adds the bias and collects the moments for the next LayerNorm.
struct UnnormedResults {
  const std::uint16_t* bias;
  UnnormedVector result;
  Moments moments{};  ///< of the rows of this thread

  __device__ void row(unsigned row, float sum) {
    const float value = sum + bf16_value(bias[row]);
    result.values[row] = value;
    add(moments, value);
  }
  __device__ void finish() {
    const Moments of_block = merged_over_block(moments);
    if (threadIdx.x == 0) result.moments[blockIdx.x] = of_block;
  }
};

template <int kVectors, int kRows, bool kAligned>
__global__ void __launch_bounds__(kGemvThreads, 1)
    linear_kernel(LinearProblem problem, unsigned team_threads) {
  trigger_next_launch();
  PlainX x{problem.x, problem.matrix.columns};
  UnnormedResults results{problem.bias, problem.result};
  multiply_rows<Bf16Weights, kVectors, kRows, kAligned>(problem.matrix, team_threads, x, results);
}

/// Returns true in the last block to arrive, for which all writes of the others are visible. Resets
/// `finished` for the next launch.
__device__ inline bool is_last_block(std::uint32_t* finished) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(finished, 1U) == gridDim.x - 1;
    if (last) *finished = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/// The last block to finish computes the outer norm.
template <int kVectors, int kRows, bool kAligned>
__global__ void __launch_bounds__(kGemvThreads, 1)
    normed_linear_kernel(NormedLinearProblem problem, unsigned team_threads) {
  trigger_next_launch();
  NormedX x{problem.x, problem.inner, problem.matrix.columns};
  UnnormedResults results{problem.bias, problem.result};
  multiply_rows<Bf16Weights, kVectors, kRows, kAligned>(problem.matrix, team_threads, x, results);
  if (!is_last_block(problem.finished)) return;
  NormedX y{problem.result, problem.outer, problem.matrix.outputs};
  y.prepare();
  for (unsigned i = threadIdx.x; i < y.count; i += blockDim.x) problem.y[i] = bf16_bits(y.value(i));
}

}  // namespace headroom::cuda
