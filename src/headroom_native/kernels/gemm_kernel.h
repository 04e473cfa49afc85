// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

constexpr std::size_t kGemmRows = 8, kMaxGemmRows = 16;

/// A few rows times many vectors, all bf16, sums in f32.
struct GemmKernel {
  /// sums[v][row] = (or += if `adds`) rows[row] * vectors[v] for v < count and row < `used` <= `rows`. All
  /// `rows` pointers must be readable. Prefetches `ahead` bytes past the rows; 0: none.
  void (*multiply)(const Bf16* const* rows, std::size_t used, std::size_t columns, const Bf16* const* vectors,
                   std::size_t count, bool adds, std::size_t ahead, float* const* sums) = nullptr;
  /// Unpacks `columns` numbers of a row to bf16; "int8" without the row's scale.
  void (*unpack)(std::string_view dtype, const std::byte* from, std::size_t columns, std::size_t ahead,
                 Bf16* to) = nullptr;
  std::string isa;               ///< "AVX2", "avx512_bf16", "amx"
  std::size_t rows = kGemmRows;  ///< multiplied at once
};

GemmKernel gemm_kernel(Isa isa);

/// Runs on every CPU.
GemmKernel portable_gemm_kernel(Isa isa);
#if defined(__x86_64__)
/// AVX512-BF16. Call only if isa.h reports it.
GemmKernel gemm_avx512_bf16();
/// AMX-BF16. Call only if isa.h reports it.
GemmKernel gemm_amx();
#endif

}  // namespace headroom::native
