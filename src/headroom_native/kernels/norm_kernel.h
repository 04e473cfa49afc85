// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "headroom/experiment/bf16.h"
#include "headroom/workload/oracle.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Where results go.
enum class Stores {
  kCached,       ///< into the caches
  kAroundCaches  ///< to memory, where the instruction set and the alignment allow it
};

/// How a kernel walks over rows. No walk wins at all sizes: src/headroom_native/kernels/tuning.h chooses.
struct NormWalk {
  Stores stores = Stores::kAroundCaches;
  int rows = 4;              ///< rows that share each load of gamma and beta: 1, 2 or 4
  std::size_t ahead = 4096;  ///< prefetch distance of x for the statistics, in bytes; 0: no prefetch
  bool next_block = false;   ///< prefetches the next rows while the current ones are normalised

  constexpr NormWalk() = default;
  constexpr bool operator==(const NormWalk&) const = default;
  constexpr NormWalk(Stores where, int rows_at_once, std::size_t bytes_ahead, bool next)
      : stores(where), rows(rows_at_once), ahead(bytes_ahead), next_block(next) {}
  constexpr NormWalk(Stores where)  // NOLINT(google-explicit-constructor): where results go implies a walk
      : stores(where), ahead(where == Stores::kCached ? 0 : 4096) {}
};

/// y = (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta over each row. Computes in f32; the
/// variance is of centred values, divided by the number of columns.
struct NormKernel {
  /// Converts gamma and beta to the form that `rows` reads: prepared_norm_floats(columns) floats.
  void (*prepare)(const float* gamma, const float* beta, std::size_t columns, float* prepared) = nullptr;
  /// Rows of bf16, row-major without gaps.
  void (*rows)(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
               Bf16* y) = nullptr;
  /// One row of f32 with parameters of bf16.
  void (*vector)(const float* x, std::size_t columns, const Bf16* gamma, const Bf16* beta, Bf16* y) = nullptr;
  std::string isa;
};

/// Floats per part of the prepared parameters, in whole lines: gamma of even columns, of odd ones, beta of
/// even, of odd, then room for all of gamma and beta as bf16.
constexpr std::size_t norm_part_floats(std::size_t columns) {
  return ((columns + 1) / 2 + 15) / 16 * 16;
}

constexpr std::size_t prepared_norm_floats(std::size_t columns) {
  return 6 * norm_part_floats(columns) + 16;
}

NormKernel norm_kernel(Isa isa);

/// The Highway kernel with plain vectors, available on every CPU.
NormKernel portable_norm_kernel(Isa isa);

#if defined(__x86_64__)
/// `rows` by products of bf16 in pairs (AVX512-BF16). Call only if isa.h reports it. Prepared as by
/// portable_norm_kernel.
NormKernel norm_avx512_bf16();
#endif

#if HEADROOM_HAS_SVE
/// `rows` on SVE vectors of the CPU's length; `vector` is the portable one.
NormKernel norm_sve();
#endif

}  // namespace headroom::native
