// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "headroom/experiment/bf16.h"
#include "headroom/workload/oracle.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

enum class Stores {
  kCached,      ///< into the caches
  kNontemporal  ///< to memory, if instruction set and alignment allow
};

/// Order of reading rows. No walk is best at all sizes: tuning.h chooses.
struct NormWalk {
  Stores stores = Stores::kNontemporal;
  int rows = 4;              ///< that share a load of gamma and beta: 1, 2 or 4
  std::size_t ahead = 4096;  ///< prefetch distance for the statistics, in bytes; 0: none
  bool next_block = false;   ///< prefetches the next rows while normalising

  constexpr NormWalk() = default;
  constexpr bool operator==(const NormWalk&) const = default;
  constexpr NormWalk(Stores where, int rows_at_once, std::size_t bytes_ahead, bool next)
      : stores(where), rows(rows_at_once), ahead(bytes_ahead), next_block(next) {}
  constexpr NormWalk(Stores where)  // NOLINT(google-explicit-constructor): where results go implies a walk
      : stores(where), ahead(where == Stores::kCached ? 0 : 4096) {}
};

/// y = (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta over each row, in f32. Centres before
/// squaring; the variance divides by the number of columns.
struct NormKernel {
  /// `prepared` has prepared_norm_floats(columns) floats.
  void (*prepare)(const float* gamma, const float* beta, std::size_t columns, float* prepared) = nullptr;
  /// Row-major without gaps.
  void (*rows)(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
               Bf16* y) = nullptr;
  void (*vector)(const float* x, std::size_t columns, const Bf16* gamma, const Bf16* beta, Bf16* y) = nullptr;
  std::string isa;
};

/// Floats per part of the prepared parameters, in whole lines: gamma of even and odd columns, beta likewise,
/// both as bf16.
constexpr std::size_t norm_part_floats(std::size_t columns) {
  return ((columns + 1) / 2 + 15) / 16 * 16;
}

constexpr std::size_t prepared_norm_floats(std::size_t columns) {
  return 6 * norm_part_floats(columns) + 16;
}

NormKernel norm_kernel(Isa isa);

/// For every CPU.
NormKernel portable_norm_kernel(Isa isa);

#if defined(__x86_64__)
/// AVX512-BF16; call only if isa.h reports it. Parameters as for portable_norm_kernel.
NormKernel norm_avx512_bf16();
#endif

#if HEADROOM_HAS_SVE
/// `vector` is the portable one.
NormKernel norm_sve();
#endif

}  // namespace headroom::native
