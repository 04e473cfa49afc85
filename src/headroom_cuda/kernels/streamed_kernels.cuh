// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/reductions.cuh"
#include "headroom_cuda/kernels/streamed_rows.cuh"

/// The matrices of a decoder: what x is put into shared memory from, and where the sums go.
namespace headroom::cuda {

/// x of bf16 as it lies in memory.
struct StreamedX {
  const std::uint16_t* values;
  unsigned columns;

  template <typename Shared>
  __device__ float prepare(const Shared& shared) const {
    for (unsigned at = 8 * threadIdx.x; at < columns; at += 8 * blockDim.x) {
      const Vector read = load_written_vector(values + at);
      float wide[8];
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        wide[2 * i] = low_bf16(read.words[i]);
        wide[2 * i + 1] = high_bf16(read.words[i]);
      }
      shared.put(at, wide);
    }
    __syncthreads();
    return 1;
  }
};

/// RMSNorm(x) but for its factor, 1 / sqrt(mean(x^2) + epsilon), which is what this gives.
struct NormedStreamX {
  const NormedStream& of;
  unsigned columns;

  template <typename Shared>
  __device__ float prepare(const Shared& shared) const {
    __shared__ float sums[kMostWarps];
    float squares = 0;
    for (unsigned at = 8 * threadIdx.x; at < columns; at += 8 * blockDim.x) {
      const Vector weight = load_common(of.weight + at);
      const Vector halves[2] = {load_written_vector(of.x + at), load_written_vector(of.x + at + 4)};
      float values[8];
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) {
        const float value = __uint_as_float(halves[i / 4].words[i % 4]);
        const std::uint32_t pair = weight.words[i / 2];
        squares = fmaf(value, value, squares);
        values[i] = value * (i % 2 == 0 ? low_bf16(pair) : high_bf16(pair));
      }
      shared.put(at, values);
    }
    // Its barrier is that of shared memory, too.
    return reciprocal_root(block_sum(squares, sums) / static_cast<float>(columns) + of.epsilon);
  }
};

struct StoreFloats {
  float* y;

  __device__ void pair(unsigned pair, const float (&sums)[2]) const {
    y[2 * pair] = sums[0];
    y[2 * pair + 1] = sums[1];
  }
};

/// To the residual stream, times the share of an expert.
struct AddToStream {
  float* x;
  const float* share;  ///< null: 1

  __device__ void pair(unsigned pair, const float (&sums)[2]) const {
    const float factor = share == nullptr ? 1.0F : load_written(share);
    x[2 * pair] = fmaf(sums[0], factor, load_written(x + 2 * pair));
    x[2 * pair + 1] = fmaf(sums[1], factor, load_written(x + 2 * pair + 1));
  }
};

/// silu(W1 x) W3 x, where rows of the two take turns.
struct StoreGated {
  std::uint16_t* hidden;

  __device__ void pair(unsigned pair, const float (&sums)[2]) const {
    hidden[pair] = bf16_bits(sums[0] / (1.0F + expf(-sums[0])) * sums[1]);
  }
};

template <typename Weights, int kDepth>
__global__ void __launch_bounds__(kStreamedThreads, 2)
    normed_rows_kernel(StreamedMatrix matrix, unsigned teams, bool late, NormedStream x, float* y) {
  stream_rows<Weights, kDepth>(matrix, teams, late, NormedStreamX{x, matrix.columns}, StoreFloats{y});
}

template <typename Weights, int kDepth>
__global__ void __launch_bounds__(kStreamedThreads, 2)
    gated_rows_kernel(StreamedMatrix matrix, unsigned teams, bool late, NormedStream x,
                      std::uint16_t* hidden) {
  stream_rows<Weights, kDepth>(matrix, teams, late, NormedStreamX{x, matrix.columns}, StoreGated{hidden});
}

template <typename Weights, int kDepth>
__global__ void __launch_bounds__(kStreamedThreads, 2)
    added_rows_kernel(StreamedMatrix matrix, unsigned teams, bool late, const std::uint16_t* x, float* to,
                      const float* share) {
  stream_rows<Weights, kDepth>(matrix, teams, late, StreamedX{x, matrix.columns}, AddToStream{to, share});
}

}  // namespace headroom::cuda
