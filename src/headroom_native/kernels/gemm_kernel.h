// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Rows of a matrix that a product takes at once, and the most that one does.
constexpr std::size_t kGemmRows = 8, kMostGemmRows = 16;

/// A few rows of bf16 times many vectors of bf16, sums in f32: what a tile of a matrix product needs.
struct GemmKernel {
  /// sums[v][row] = rows[row] * vectors[v] over `columns`, or, where `adds`, that much more, for v < count
  /// and row < `used` <= `rows`. All pointers to `rows` rows are readable. Lines that lie `ahead` bytes
  /// behind the rows are prefetched; 0: none.
  void (*multiply)(const Bf16* const* rows, std::size_t used, std::size_t columns, const Bf16* const* vectors,
                   std::size_t count, bool adds, std::size_t ahead, float* const* sums) = nullptr;
  /// to = `columns` numbers of a row of `dtype`, rounded to bf16; of "int8" without the scale of the row.
  void (*unpack)(std::string_view dtype, const std::byte* from, std::size_t columns, std::size_t ahead,
                 Bf16* to) = nullptr;
  std::string isa;               ///< "AVX2", "avx512_bf16", "amx"
  std::size_t rows = kGemmRows;  ///< that are multiplied at once
};

GemmKernel gemm_kernel(Isa isa);

/// Products and sums of vectors in f32: there on every CPU.
GemmKernel portable_gemm_kernel(Isa isa);
#if defined(__x86_64__)
/// Products of bf16 in pairs (AVX512-BF16); may be called only where isa.h says that this CPU has them.
GemmKernel gemm_avx512_bf16();
/// The same by tiles of 16 rows and 16 vectors (AMX-BF16).
GemmKernel gemm_amx();
#endif

}  // namespace headroom::native
