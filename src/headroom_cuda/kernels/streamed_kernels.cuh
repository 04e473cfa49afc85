// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/device_ops.cuh"
#include "headroom_cuda/kernels/kernel_plan.h"

/// Rows times a vector, for consecutive launches of a few microseconds. Each block has an equal share of
/// rows, in groups of 8 that teams of warps take in turn, 128 bytes of each row at a time. Tensor cores
/// multiply int8, as f16, with x of f16, and bf16 with x of bf16; sums are f32. Each thread fills its part of
/// a ring in shared memory before the previous launch has ended. No barrier until all rows are done.

namespace headroom::cuda {

__device__ inline std::uint32_t pair_beside(Int8Weights /*of*/, float low, float high) {
  return f16_pair(low, high);
}
__device__ inline std::uint32_t pair_beside(Bf16Weights /*of*/, float low, float high) {
  return bf16_pair(low, high);
}

/// x in shared memory, [columns], in planes that avoid bank conflicts.
template <typename Weights>
struct SharedX {
  static constexpr unsigned kPlanes = kLength<Weights> / 8, kPairs = kLength<Weights> / 2;

  Vector* vectors;
  unsigned of_plane;  ///< vectors in a plane

  __device__ SharedX(void* memory, unsigned columns)
      : vectors(static_cast<Vector*>(memory)), of_plane(columns / kLength<Weights>) {}
  /// Stores from `element` on, a multiple of 8.
  __device__ void put(unsigned element, const float (&values)[8]) const {
    Vector pairs;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      pairs.words[i] = pair_beside(Weights{}, values[2 * i], values[2 * i + 1]);
    vectors[element / 8 % kPlanes * of_plane + element / kLength<Weights>] = pairs;
  }
  __device__ void get(unsigned index, std::uint32_t (&pairs)[kPairs]) const {
#pragma unroll
    for (unsigned plane = 0; plane < kPlanes; ++plane) {
      const Vector read = vectors[plane * of_plane + index];
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) pairs[4 * plane + i] = read.words[i];
    }
  }
};

/// Multiplies two vectors with x: row g of the tile, and row g + 8; their x are columns 0 and 1 of the other
/// operand, so both sums end in one lane; other columns are ignored. Any order of columns that x shares.
__device__ inline void multiply_unit(Int8Weights /*of*/, const Vector (&of_row)[2],
                                     const std::uint32_t (&x)[8], float (&tiles)[2][4]) {
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t low = of_row[0].words[i] ^ 0x80808080U, high = of_row[1].words[i] ^ 0x80808080U;
    const std::uint32_t a[4] = {f16_of_bytes<0>(low), f16_of_bytes<0>(high), f16_of_bytes<2>(low),
                                f16_of_bytes<2>(high)};
    multiply_f16(a, x[2 * i], x[2 * i + 1], tiles[i % 2]);
  }
}
__device__ inline void multiply_unit(Bf16Weights /*of*/, const Vector (&of_row)[2],
                                     const std::uint32_t (&x)[4], float (&tiles)[2][4]) {
#pragma unroll
  for (unsigned i = 0; i < 2; ++i) {
    const std::uint32_t a[4] = {of_row[0].words[2 * i], of_row[1].words[2 * i], of_row[0].words[2 * i + 1],
                                of_row[1].words[2 * i + 1]};
    multiply_bf16(a, x[2 * i], x[2 * i + 1], tiles[i]);
  }
}

/// kDepth in flight: 128 bytes of each row of a group from left to right, then the next group.
template <typename Weights, int kDepth>
struct StreamUnits {
  const StreamedMatrix& matrix;
  std::size_t row_bytes;
  unsigned of_row, begin, end;        ///< units in a row; rows of the block
  unsigned warps, teams, team, warp;  ///< per team; per block; place of this thread
  unsigned row, column;               ///< lane g * 4 + t has row g of a group, and vectors t of both halves
  Vector* slots;
  unsigned next_load_group, next_load_unit, next_load_slot = 0;
  const std::byte* from = nullptr;  ///< next address to load for this lane

  __device__ StreamUnits(const StreamedMatrix& of, unsigned teams_of_block, Vector* ring)
      : matrix(of),
        row_bytes(std::size_t{of.columns} * Weights::kBytes),
        of_row(static_cast<unsigned>(row_bytes / kStreamUnit)),
        begin(share_of(blockIdx.x)),
        end(share_of(blockIdx.x + 1)),
        warps(blockDim.x / kWarp / teams_of_block),
        teams(teams_of_block),
        team(threadIdx.x / kWarp / warps),
        warp(threadIdx.x / kWarp % warps),
        row(threadIdx.x % kWarp / 4),
        column(threadIdx.x % 4),
        slots(ring + threadIdx.x),
        next_load_group(first_group()),
        next_load_unit(warp) {
    enter_group();
  }

  __device__ unsigned share_of(unsigned block) const {
    // A 64-bit division would delay the first load; 32 bits suffice for 2^24 rows.
    return kStreamGroup * (matrix.rows / kStreamGroup * matrix.slots * block / gridDim.x);
  }
  __device__ unsigned first_group() const { return begin + team * kStreamGroup; }
  __device__ unsigned next_group(unsigned group) const { return group + teams * kStreamGroup; }
  /// Index of a row in the whole stack.
  __device__ std::size_t place(unsigned of) const {
    if (matrix.chosen == nullptr) return of;
    return std::size_t{static_cast<unsigned>(matrix.chosen[of / matrix.rows])} * matrix.rows +
           of % matrix.rows;
  }
  __device__ bool all_requested() const { return next_load_group >= end; }
  __device__ void enter_group() {
    if (all_requested()) return;
    from = matrix.weights + place(next_load_group + row) * row_bytes + std::size_t{kStreamUnit} * warp +
           kVectorBytes * column;
  }
  /// A slot is the index of its first vector.
  __device__ unsigned next_slot(unsigned slot) const {
    const unsigned next = slot + 2 * blockDim.x;
    return next == kDepth * 2 * blockDim.x ? 0 : next;
  }

  /// Always closes a group of copies.
  __device__ void load_next() {
    if (!all_requested()) {
      Vector* const to = slots + next_load_slot;
      copy_async(to, from);
      copy_async(to + blockDim.x, from + kStreamUnit / 2);
      next_load_slot = next_slot(next_load_slot);
      next_load_unit += warps;
      from += std::size_t{kStreamUnit} * warps;
      if (next_load_unit >= of_row) {
        next_load_unit = warp;
        next_load_group = next_group(next_load_group);
        enter_group();
      }
    }
    commit_copies();
  }
};

/// Multiplies this block's rows with x. A row must have a unit for each warp of a team. `x.prepare(shared)`
/// runs in every thread once the previous launch's writes are visible: it stores x, passes a barrier, and
/// returns a factor for all sums. `results.pair(pair, sums)` runs in one thread per pair of rows, counted
/// over the chosen matrices.
template <typename Weights, int kDepth, typename X, typename Results>
__device__ void stream_rows(const StreamedMatrix& matrix, unsigned teams, bool triggers_late, const X& x,
                            const Results& results) {
  if (!triggers_late) trigger_next_launch();
  // The previous launch may write the indices.
  if (matrix.chosen != nullptr) wait_for_previous_launch();
  auto* const memory = static_cast<Vector*>(dynamic_shared_memory());
  StreamUnits<Weights, kDepth> units(matrix, teams, memory);
  const SharedX<Weights> shared(memory + kDepth * 2 * blockDim.x, matrix.columns);
  auto* const partials =
      reinterpret_cast<float*>(shared.vectors + SharedX<Weights>::kPlanes * shared.of_plane);
  const unsigned stride = units.warps + 1;  // rows begin in different banks
#pragma unroll 1
  for (unsigned i = 0; i < kDepth; ++i) units.load_next();
  wait_for_previous_launch();
  const float factor = x.prepare(shared);
  bool triggered = !triggers_late;
  unsigned slot = 0;
  for (unsigned group = units.first_group(); group < units.end; group = units.next_group(group)) {
    float tiles[2][4] = {};
    for (unsigned unit = units.warp; unit < units.of_row; unit += units.warps) {
      wait_for_copies<kDepth - 1>();
      const Vector* const from = units.slots + slot;
      const Vector of_row[2] = {from[0], from[blockDim.x]};
      slot = units.next_slot(slot);
      std::uint32_t pairs[SharedX<Weights>::kPairs];
      shared.get(unit * (kStreamUnit / kVectorBytes) + units.row % 2 * (kStreamUnit / 2 / kVectorBytes) +
                     units.column,
                 pairs);
      multiply_unit(Weights{}, of_row, pairs, tiles);
      units.load_next();
    }
    if (!triggered && units.all_requested()) {
      trigger_next_launch();
      triggered = true;
    }
    if (units.column == 0) {
      partials[(group + units.row - units.begin) * stride + units.warp] =
          (tiles[0][0] + tiles[1][0]) + (tiles[0][3] + tiles[1][3]);
    }
  }
  if (!triggered) trigger_next_launch();
  __syncthreads();
  for (unsigned row = units.begin + 2 * threadIdx.x; row < units.end; row += 2 * blockDim.x) {
    float sums[2] = {};
#pragma unroll
    for (unsigned r = 0; r < 2; ++r) {
      const float* const of_row = partials + (row + r - units.begin) * stride;
      for (unsigned warp = 0; warp < units.warps; ++warp) sums[r] += of_row[warp];
      sums[r] *= factor;
      if (matrix.scales != nullptr) sums[r] *= bf16_value(matrix.scales[units.place(row + r)]);
    }
    results.pair(row / 2, sums);
  }
}

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

/// RMSNorm(x) without its factor, which prepare() returns.
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
    // Its barrier also orders the writes to `shared`.
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

struct AddToStream {
  float* x;
  const float* share;  ///< null: 1

  __device__ void pair(unsigned pair, const float (&sums)[2]) const {
    const float factor = share == nullptr ? 1.0F : load_written(share);
    x[2 * pair] = fmaf(sums[0], factor, load_written(x + 2 * pair));
    x[2 * pair + 1] = fmaf(sums[1], factor, load_written(x + 2 * pair + 1));
  }
};

/// silu(W1 x) W3 x; rows of W1 and W3 alternate.
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
