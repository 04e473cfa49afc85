// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/gemv_rows.cuh"

namespace headroom::cuda {

/// x of bf16 as it lies in memory, which the launch before this one may have written.
struct PlainX {
  const std::uint16_t* values;
  unsigned count;

  __device__ void prepare() { wait_for_launch_before(); }

  /// Pairs of bf16 from `element` on, a multiple of 8; zero behind the end.
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

/// gemv and gather_gemv.
template <typename Weights, int kVectors, int kRows, bool kAligned>
__global__ void __launch_bounds__(kGemvThreads, 1) gemv_kernel(GemvProblem problem, unsigned team_threads) {
  let_next_launch_start();
  PlainX x{problem.x, problem.matrix.columns};
  Bf16Results results{problem.y};
  multiply_rows<Weights, kVectors, kRows, kAligned>(problem.matrix, team_threads, x, results);
}

}  // namespace headroom::cuda
