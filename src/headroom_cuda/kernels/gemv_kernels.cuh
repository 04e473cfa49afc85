// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/device_ops.cuh"
#include "headroom_cuda/kernels/kernel_plan.h"

namespace headroom::cuda {

/// Both pointers must be aligned to 16 bytes.
inline __global__ void __launch_bounds__(256)
    convert_kernel(const std::int8_t* from, std::uint16_t* to, std::size_t count) {
  constexpr std::size_t kEach = kVectorBytes;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x * kEach;
  for (std::size_t at = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * kEach; at < count;
       at += step) {
    if (at + kEach > count) {
      for (std::size_t i = at; i < count; ++i) to[i] = bf16_bits(static_cast<float>(from[i]));
      continue;
    }
    const Vector read = load_once(from + at);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      Vector written;
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
        const std::uint32_t raised = read.words[2 * half + i] ^ 0x80808080U;
        written.words[2 * i] = bf16_pair(int8_value<0>(raised), int8_value<1>(raised));
        written.words[2 * i + 1] = bf16_pair(int8_value<2>(raised), int8_value<3>(raised));
      }
      store_once(to + at + 8 * half, written);
    }
  }
}

// Rows times x. Each block has an equal share of rows; its teams of threads take batches in turn. A thread
// keeps its columns of x in registers and loads a batch while it multiplies the last one. No barrier until
// all rows are done.

constexpr unsigned kGemvThreads = 512;  ///< per block, at most
constexpr unsigned kPartials = 4096;    ///< sums of a block: one for each row and warp of its team

/// A batch of this size keeps enough bytes in flight; two do not fit the registers.
constexpr int kLargeBatch = 8;

/// This thread's place in its team of `threads`, a power of two from 32 to blockDim.x.
struct RowTeam {
  unsigned threads, count, index, lane, warps, warp;

  __device__ explicit RowTeam(unsigned team_threads)
      : threads(team_threads),
        count(blockDim.x / team_threads),
        index(threadIdx.x / team_threads),
        lane(threadIdx.x % team_threads),
        warps(team_threads / kWarp),
        warp(lane / kWarp) {}
};

template <typename Weights>
struct MatrixRows {
  const std::byte* first;
  const std::byte* second;  ///< its row 0 follows the last row of `first`
  const std::byte* end;
  std::size_t row_bytes;
  unsigned rows;
  unsigned vectors;  ///< per row

  __device__ explicit MatrixRows(const GemvMatrix& matrix)
      : first(matrix.weights),
        second(matrix.weights),
        end(matrix.end),
        row_bytes(std::size_t{matrix.columns} * Weights::kBytes),
        rows(matrix.rows),
        vectors(static_cast<unsigned>((row_bytes + kVectorBytes - 1) / kVectorBytes)) {
    if (matrix.chosen == nullptr) return;
    wait_for_previous_launch();  // it may write the indices
    first += static_cast<std::size_t>(matrix.chosen[0]) * rows * row_bytes;
    second += static_cast<std::size_t>(matrix.chosen[1]) * rows * row_bytes;
  }
  __device__ const std::byte* at(unsigned row) const {
    return row < rows ? first + row * row_bytes : second + (row - rows) * row_bytes;
  }
};

/// The loads in flight of a thread.
template <typename Weights, int kVectors, int kRows, bool kAligned>
struct Batch {
  Vector vectors[kRows][kVectors];

  /// Missing rows and vectors are zero.
  __device__ void load(const MatrixRows<Weights>& matrix, unsigned row, unsigned last, unsigned index,
                       unsigned step) {
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const std::byte* const from = matrix.at(row + r);
#pragma unroll
      for (unsigned v = 0; v < kVectors; ++v) {
        const unsigned at = index + v * step;
        if (row + r < last && at < matrix.vectors) {
          vectors[r][v] = row_vector<kAligned>(from, matrix.row_bytes, at, matrix.end);
        } else {
          vectors[r][v] = Vector{};
        }
      }
    }
  }

  __device__ void multiply(const std::uint32_t (&x)[kVectors][kLength<Weights> / 2],
                           float (&sums)[kRows]) const {
    float halves[kRows][2] = {};
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      float values[kLength<Weights>];
      unpack(x[v], values);
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) add_products(Weights{}, vectors[r][v], values, halves[r]);
    }
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) sums[r] = halves[r][0] + halves[r][1];
  }
};

/// Multiplies rows [first, last) with the columns that a team holds, from vector `tile` on. Adds each warp's
/// sums to `partials` (stores if `tile` is 0). Calls `x.prepare()` in every thread once the first loads are
/// in flight.
template <typename Weights, int kVectors, int kRows, bool kAligned, typename X>
__device__ void multiply_tile(const MatrixRows<Weights>& matrix, const RowTeam& team, unsigned first,
                              unsigned last, unsigned tile, X& x, float (&partials)[kPartials]) {
  constexpr unsigned kLanesOfRow = kWarp / kRows;
  const unsigned index = tile + team.lane;
  const unsigned lane = threadIdx.x % kWarp;
  const unsigned step = team.count * kRows;
  unsigned row = first + team.index * kRows;
  Batch<Weights, kVectors, kRows, kAligned> current, next;
  current.load(matrix, row, last, index, team.threads);
  x.prepare();
  std::uint32_t pairs[kVectors][kLength<Weights> / 2] = {};
#pragma unroll
  for (unsigned v = 0; v < kVectors; ++v) {
    const unsigned at = index + v * team.threads;
    if (at < matrix.vectors) x.fill(pairs[v], at * kLength<Weights>);
  }
  const auto take = [&](const auto& batch, auto& behind) {
    behind.load(matrix, row + step, last, index, team.threads);
    float sums[kRows];
    batch.multiply(pairs, sums);
    const float sum = warp_sums(sums, lane);
    const unsigned row_of_lane = row + lane / kLanesOfRow;
    if (lane % kLanesOfRow == 0 && row_of_lane < last) {
      float& partial = partials[(row_of_lane - first) * team.warps + team.warp];
      partial = tile == 0 ? sum : partial + sum;
    }
    row += step;
  };
  while (row < last) {
    take(current, next);
    if constexpr (kVectors * kRows < kLargeBatch) {
      // Alternates: a copy of a batch would wait for its loads.
      if (row >= last) break;
      take(next, current);
    } else {
      current = next;
    }
  }
}

/// Calls `results.row(row, sum)` in one thread per row, then `results.finish()` in every thread.
template <typename Weights, int kVectors, int kRows, bool kAligned, typename X, typename Results>
__device__ void multiply_rows(const GemvMatrix& of, unsigned team_threads, X& x, Results& results) {
  __shared__ float partials[kPartials];
  const MatrixRows<Weights> matrix(of);
  const RowTeam team(team_threads);
  const auto begin = static_cast<unsigned>(std::uint64_t{of.outputs} * blockIdx.x / gridDim.x);
  const auto end = static_cast<unsigned>(std::uint64_t{of.outputs} * (blockIdx.x + 1) / gridDim.x);
  const unsigned most = kPartials / team.warps;
  for (unsigned first = begin; first < end; first += most) {
    const unsigned last = end - first < most ? end : first + most;
    for (unsigned tile = 0; tile < matrix.vectors; tile += kVectors * team.threads) {
      multiply_tile<Weights, kVectors, kRows, kAligned>(matrix, team, first, last, tile, x, partials);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < last - first; i += blockDim.x) {
      float sum = 0;
      for (unsigned warp = 0; warp < team.warps; ++warp) sum += partials[i * team.warps + warp];
      results.row(first + i, sum);
    }
    __syncthreads();
  }
  results.finish();
}

/// The previous launch may write it.
struct PlainX {
  const std::uint16_t* values;
  unsigned count;

  __device__ void prepare() { wait_for_previous_launch(); }

  /// Loads from `element` on, a multiple of 8; zero past the end.
  template <unsigned kPairs>
  __device__ void fill(std::uint32_t (&pairs)[kPairs], unsigned element) const {
#pragma unroll
    for (unsigned part = 0; part < kPairs / 4; ++part) {
      const unsigned from = element + 8 * part;
      if (from + 8 <= count) {
        const Vector read = load_written_vector(values + from);
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) pairs[4 * part + i] = read.words[i];
        continue;
      }
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) {
        if (from + i >= count) continue;
        pairs[4 * part + i / 2] |= std::uint32_t{load_written(values + from + i)} << (16 * (i % 2));
      }
    }
  }
};

struct Bf16Results {
  std::uint16_t* y;

  __device__ void row(unsigned row, float sum) const { y[row] = bf16_bits(sum); }
  __device__ void finish() const {}
};

template <typename Weights, int kVectors, int kRows, bool kAligned>
__global__ void __launch_bounds__(kGemvThreads, 1) gemv_kernel(GemvProblem problem, unsigned team_threads) {
  trigger_next_launch();
  PlainX x{problem.x, problem.matrix.columns};
  Bf16Results results{problem.y};
  multiply_rows<Weights, kVectors, kRows, kAligned>(problem.matrix, team_threads, x, results);
}

// Moments merge by Welford (1962) for values, Chan, Golub and LeVeque (1979) for parts.

__device__ inline void add(Moments& to, float value) {
  to.count += 1;
  const float difference = value - to.mean;
  to.mean += difference / to.count;
  to.squares = fmaf(difference, value - to.mean, to.squares);
}

/// Merges over all threads, which all get the result. Ends with a barrier.
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

// Linear layers fused with the LayerNorms around them: blocks leave moments of their outputs, and every block
// of the next launch merges them.

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

/// Collects the moments for the next LayerNorm.
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

/// True in the last block to arrive, which sees all writes of the others. Resets `finished` for the next
/// launch.
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
