// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/device_ops.cuh"
#include "headroom_cuda/kernels/kernel_plan.h"

/// LayerNorm of bf16 rows. A block holds a row, gamma and beta in registers, and loads the next row while it
/// sums this one.

namespace headroom::cuda {

constexpr unsigned kNormLength = kVectorBytes / sizeof(std::uint16_t);  ///< values in a vector

struct RowStatistics {
  float mean, reciprocal;
};

/// Columns of a thread: vectors blockDim.x apart, from `first` on.
template <int kVectors>
struct NormColumns {
  unsigned columns, vectors, first;

  __device__ explicit NormColumns(const NormProblem& problem, unsigned from)
      : columns(problem.columns),
        vectors((problem.columns + kNormLength - 1) / kNormLength),
        first(from + threadIdx.x) {}
  __device__ unsigned vector(unsigned v) const { return first + v * blockDim.x; }
  __device__ unsigned length(unsigned v) const {
    const unsigned at = vector(v);
    if (at >= vectors) return 0;
    const unsigned left = columns - at * kNormLength;
    return left < kNormLength ? left : kNormLength;
  }
  __device__ unsigned count() const {
    unsigned all = 0;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) all += length(v);
    return all;
  }
};

template <int kVectors, bool kAligned>
struct NormRow {
  Vector vectors[kVectors];

  __device__ void load(const NormProblem& problem, const NormColumns<kVectors>& columns, unsigned row) {
    const std::size_t row_bytes = std::size_t{problem.columns} * sizeof(std::uint16_t);
    const auto* const x = reinterpret_cast<const std::byte*>(problem.x);
    const std::byte* const end = x + problem.rows * row_bytes;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      const bool inside = row < problem.rows && columns.vector(v) < columns.vectors;
      if (!inside) {
        vectors[v] = Vector{};
      } else if constexpr (kAligned) {
        vectors[v] = load_written_once(x + row * row_bytes + std::size_t{kVectorBytes} * columns.vector(v));
      } else {
        vectors[v] = row_vector<false>(x + row * row_bytes, row_bytes, columns.vector(v), end);
      }
    }
  }

  __device__ float sum() const {
    float sums[2] = {};
#pragma unroll
    for (const Vector& vector : vectors) {
#pragma unroll
      for (const std::uint32_t pair : vector.words) {
        sums[0] += low_bf16(pair);
        sums[1] += high_bf16(pair);
      }
    }
    return sums[0] + sums[1];
  }

  __device__ float squared_differences(const NormColumns<kVectors>& columns, float mean) const {
    float sum = 0;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      const unsigned length = columns.length(v);
      if (kAligned && length == 0) continue;
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const float low = low_bf16(vectors[v].words[i]) - mean;
        const float high = high_bf16(vectors[v].words[i]) - mean;
        if (kAligned || 2 * i < length) sum = fmaf(low, low, sum);
        if (kAligned || 2 * i + 1 < length) sum = fmaf(high, high, sum);
      }
    }
    return sum;
  }
};

/// Statistics of a row held by a block. Merges warps by Chan, Golub and LeVeque (1979), without cancellation;
/// one barrier a row.
class BlockStatistics {
 public:
  __device__ BlockStatistics(unsigned count_of_thread, float columns, float epsilon)
      : count_(warp_sum(static_cast<float>(count_of_thread))), columns_(columns), epsilon_(epsilon) {}

  template <int kVectors, bool kAligned>
  __device__ RowStatistics of(const NormRow<kVectors, kAligned>& row, const NormColumns<kVectors>& columns) {
    const float sum = warp_sum(row.sum());
    const float mean = count_ > 0 ? sum / count_ : 0;
    const float squares = warp_sum(row.squared_differences(columns, mean));
    return blockDim.x == kWarp ? finished(mean, squares) : merged(mean, squares);
  }

 private:
  __device__ RowStatistics finished(float mean, float squares) const {
    return {mean, reciprocal_root(squares / columns_ + epsilon_)};
  }
  __device__ RowStatistics merged(float mean, float squares) {
    // Double-buffered: another warp may still read the last row.
    __shared__ float counts[2][kMostWarps], means[2][kMostWarps], sums[2][kMostWarps];
    const unsigned warp = threadIdx.x / kWarp;
    const unsigned lane = threadIdx.x % kWarp;
    if (lane == 0) {
      counts[turn_][warp] = count_;
      means[turn_][warp] = mean;
      sums[turn_][warp] = squares;
    }
    __syncthreads();
    const bool is_used = lane < blockDim.x / kWarp;
    const float count = is_used ? counts[turn_][lane] : 0;
    const float own = is_used ? means[turn_][lane] : 0;
    const float whole = warp_sum(count * own) / columns_;
    const float apart = is_used ? fmaf(count * (own - whole), own - whole, sums[turn_][lane]) : 0;
    turn_ = 1 - turn_;
    return finished(whole, warp_sum(apart));
  }

  float count_, columns_, epsilon_;
  unsigned turn_ = 0;
};

__device__ inline Vector normed(const Vector& values, const RowStatistics& row,
                                const float (&gamma)[kNormLength], const float (&beta)[kNormLength]) {
  Vector result;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const float low = (low_bf16(values.words[i]) - row.mean) * row.reciprocal;
    const float high = (high_bf16(values.words[i]) - row.mean) * row.reciprocal;
    result.words[i] =
        bf16_pair(fmaf(low, gamma[2 * i], beta[2 * i]), fmaf(high, gamma[2 * i + 1], beta[2 * i + 1]));
  }
  return result;
}

/// Loads from `element` on, a multiple of 8; zero after `length`.
__device__ inline void load_parameters(const float* from, unsigned element, unsigned length,
                                       float (&values)[kNormLength]) {
  if (length == kNormLength) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const Vector read = load_common(from + element + 4 * half);
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) values[4 * half + i] = __uint_as_float(read.words[i]);
    }
    return;
  }
#pragma unroll
  for (unsigned i = 0; i < kNormLength; ++i) values[i] = i < length ? from[element + i] : 0;
}

/// For rows of at most blockDim.x kVectors vectors.
template <int kVectors, bool kAligned>
__global__ void __launch_bounds__(norm_form(kVectors).threads, norm_form(kVectors).blocks)
    norm_kernel(NormProblem problem) {
  trigger_next_launch();
  const NormColumns<kVectors> columns(problem, 0);
  float gamma[kVectors][kNormLength], beta[kVectors][kNormLength];
  NormRow<kVectors, kAligned> current, next;
  // Unaligned loads need the registers of gamma and beta.
  if constexpr (!kAligned) {
    wait_for_previous_launch();
    current.load(problem, columns, blockIdx.x);
  }
#pragma unroll
  for (unsigned v = 0; v < kVectors; ++v) {
    load_parameters(problem.gamma, columns.vector(v) * kNormLength, columns.length(v), gamma[v]);
    load_parameters(problem.beta, columns.vector(v) * kNormLength, columns.length(v), beta[v]);
  }
  if constexpr (kAligned) {
    wait_for_previous_launch();
    current.load(problem, columns, blockIdx.x);
  }
  BlockStatistics statistics(columns.count(), static_cast<float>(problem.columns), problem.epsilon);
  const std::size_t row_bytes = std::size_t{problem.columns} * sizeof(std::uint16_t);
  unsigned row = blockIdx.x;
  const auto take = [&](const auto& values, auto& behind) {
    behind.load(problem, columns, row + gridDim.x);
    const RowStatistics found = statistics.of(values, columns);
    auto* const y = reinterpret_cast<std::byte*>(problem.y) + row * row_bytes;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      store_row_vector<kAligned>(y, row_bytes, columns.vector(v), columns.vectors,
                                 normed(values.vectors[v], found, gamma[v], beta[v]));
    }
    row += gridDim.x;
  };
  // Alternates: a copy of a row would wait for its loads.
  while (row < problem.rows) {
    take(current, next);
    if (row >= problem.rows) break;
    take(next, current);
  }
}

/// Rows that exceed a block's registers: read once from memory, twice from L2.
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
