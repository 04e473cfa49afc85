// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "headroom/experiment/bf16.h"
#include "headroom/workload/oracle.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Where results go.
enum class Stores {
  kCached,       ///< into the caches
  kAroundCaches  ///< to memory, where the instruction set and the alignment allow it
};

/// How rows are walked over. No walk wins at all sizes (src/headroom_native/kernels/tuning.h chooses).
struct NormWalk {
  Stores stores = Stores::kAroundCaches;
  int rows = 4;  ///< that share each load of gamma and beta: 1, 2 or 4
  std::size_t ahead =
      4096;  ///< bytes ahead of its reads that x is prefetched for the statistics; 0: it is not
  bool next_block = false;  ///< while rows are normalised, those that come next are prefetched

  constexpr NormWalk() = default;
  constexpr bool operator==(const NormWalk&) const = default;
  constexpr NormWalk(Stores where, int rows_at_once, std::size_t bytes_ahead, bool next)
      : stores(where), rows(rows_at_once), ahead(bytes_ahead), next_block(next) {}
  constexpr NormWalk(Stores where)  // NOLINT(google-explicit-constructor): where results go implies a walk
      : stores(where), ahead(where == Stores::kCached ? 0 : 4096) {}
};

/// y = (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta over each row; arithmetic in f32, the
/// variance over centred values and divided by the number of columns.
struct NormKernel {
  /// Brings gamma and beta into the form that `rows` reads: `prepared` holds prepared_norm_floats(columns).
  void (*prepare)(const float* gamma, const float* beta, std::size_t columns, float* prepared) = nullptr;
  /// Rows of bf16, row-major without gaps.
  void (*rows)(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
               Bf16* y) = nullptr;
  /// One row of f32 with parameters of bf16.
  void (*vector)(const float* x, std::size_t columns, const Bf16* gamma, const Bf16* beta, Bf16* y) = nullptr;
  std::string isa;
};

/// gamma of even columns, gamma of odd ones, beta of even, beta of odd, then room for all of gamma and of
/// beta as bf16: floats from the start of one of these parts to the next, whole lines.
constexpr std::size_t norm_part_floats(std::size_t columns) {
  return ((columns + 1) / 2 + 15) / 16 * 16;
}

constexpr std::size_t prepared_norm_floats(std::size_t columns) {
  return 6 * norm_part_floats(columns) + 16;
}

NormKernel norm_kernel(Isa isa);

/// The kernel that Highway makes of plain vectors: there on every CPU.
NormKernel portable_norm_kernel(Isa isa);

}  // namespace headroom::native
