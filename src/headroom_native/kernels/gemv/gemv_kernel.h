// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Place of the weights that one thread reads.
enum class Residency {
  kNear,  ///< in its own caches: several rows at once share each load of x
  kFar    ///< beyond its caches: one row after another, as one prefetched stream
};

/// Target of a prefetch, on CPUs that distinguish caches.
enum class PrefetchLevel {
  kAllCaches,
  kFirstCache,    ///< bypasses larger caches
  kLargerCaches,  ///< bypasses L1, which holds x
};

/// Order of reading weights. No walk is best at all sizes (tuning.h chooses); effective_walk() replaces
/// missing ones.
struct GemvWalk {
  int rows = 1;              ///< rows at once: 1, 2 or 4
  std::size_t ahead = 8192;  ///< prefetch distance in a row, in bytes; 0: none
  /// Rows read at once are a quarter of the matrix apart: long streams.
  bool apart = false;
  PrefetchLevel into = PrefetchLevel::kAllCaches;  ///< target of the prefetch

  constexpr GemvWalk() = default;
  constexpr GemvWalk(int rows_at_once, std::size_t bytes_ahead,
                     PrefetchLevel caches = PrefetchLevel::kAllCaches)
      : rows(rows_at_once), ahead(bytes_ahead), into(caches) {}
  constexpr bool operator==(const GemvWalk&) const = default;
  constexpr GemvWalk with_rows_apart() const {
    GemvWalk walk = *this;
    walk.apart = true;
    return walk;
  }
  // Implicit: the place of the weights implies a walk.
  constexpr GemvWalk(Residency reach)  // NOLINT(google-explicit-constructor)
      : rows(reach == Residency::kNear ? 4 : 1), ahead(reach == Residency::kNear ? 0 : 8192) {}
};

/// Equal results mean identical work.
constexpr GemvWalk effective_walk(GemvWalk walk) {
  walk.rows = walk.rows >= 4 ? 4 : walk.rows >= 2 ? 2 : 1;
  if (walk.ahead == 0 || (walk.into == PrefetchLevel::kFirstCache && walk.rows > 1))
    walk.into = PrefetchLevel::kAllCaches;
  return walk;
}

/// Streams that the hardware prefetcher can follow; x stays in L1.
constexpr GemvWalk kFourStreams = GemvWalk(4, 2048, PrefetchLevel::kLargerCaches).with_rows_apart();

/// Forms for int8 weights. bf16 weights have kBest and kStrict.
enum class GemvForm {
  kBest,   ///< x as 16-bit fixed point (error 3e-5 of the largest |x|); kStrict on the baseline of x86
  kTable,  ///< weights to bf16 by a register table, exact; needs AVX512-BF16 and AVX512-VBMI
  kStrict  ///< as exact as f32: x as 24-bit fixed point, or weights to f32
};

/// y[row] = sum over columns of weights[row][column] * x[column]. NaN and infinity propagate as in f32.
struct GemvKernel {
  void (*prepare)(const Bf16* x, std::size_t columns, std::byte* prepared) = nullptr;
  /// `weights` are row-major without gaps. Accumulates in f32.
  void (*multiply)(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) = nullptr;
  /// Rounds to nearest even.
  void (*round)(const float* x, std::size_t count, Bf16* y) = nullptr;
  std::string isa;  ///< "AVX3", "avx512_bf16"
  /// Default beyond the caches, without tuning for the shape.
  GemvWalk far_walk = kFourStreams;
  /// dtype of the peak that bounds its products: "int8" for fixed-point x.
  const char* products = "bf16";
};

/// For any kernel, aligned to 64.
constexpr std::size_t prepared_bytes(std::size_t columns) {
  return columns * sizeof(float) + columns / 8 + 1024;
}

/// Takes "bf16", "int8", or a dtype of gemv_blocks and gemv_super_blocks. Throws std::logic_error otherwise,
/// and for kTable without has_gemv_form.
GemvKernel gemv_kernel(std::string_view dtype, Isa isa, GemvForm form = GemvForm::kBest);

bool has_gemv_form(std::string_view dtype, Isa isa, GemvForm form);

/// Runs on every CPU. `form`: kBest or kStrict.
GemvKernel portable_gemv_kernel(std::string_view dtype, Isa isa, GemvForm form = GemvForm::kStrict);

/// kNear if a thread's share of the weights fits half of a typical L2.
Residency residency_of(std::size_t bytes_per_thread, bool hot);

/// Blocks of 32 along a row, each after a binary16 scale: "int8_g32" (ggml's Q8_0) or "int4" (Q4_0). Columns
/// must be a multiple of 32. With byte products, x is 16-bit fixed point (error 3e-5 of the largest |x|).
GemvKernel gemv_blocks(std::string_view dtype, Isa isa);

/// In f32, for every CPU.
GemvKernel portable_gemv_blocks(std::string_view dtype, Isa isa);

/// Blocks of 256 along a row (ggml's K-quants): "q4_k", "q5_k", "q6_k". Columns must be a multiple of 256. x
/// is 16-bit fixed point (error 3e-5 of the largest |x|), exact for products that share a scale; f32 on the
/// x86 baseline.
GemvKernel gemv_super_blocks(std::string_view dtype, Isa isa);

/// Unpacks `columns` numbers to bf16. Prefetches `ahead` bytes ahead; 0: none.
using UnpackSuperBlocks = void (*)(std::string_view dtype, const std::byte* from, std::size_t columns,
                                   std::size_t ahead, Bf16* to);
UnpackSuperBlocks unpack_super_blocks(Isa isa);

// Instructions beyond Highway. Call only if isa.h reports the instruction set.

#if defined(__x86_64__)
/// bf16 weights, products in pairs (AVX512-BF16).
GemvKernel gemv_avx512_bf16();
/// int8 weights, x as 16-bit fixed point, or 24-bit if `strict` (AVX512-VNNI).
GemvKernel gemv_avx512_vnni(bool strict);
/// int8 weights, converted to bf16 by 128-entry register tables (AVX512-VBMI, AVX512-BF16).
GemvKernel gemv_avx512_table();
/// Blocks of 4 or 8 bits, x as 16-bit fixed point (AVX512-VNNI).
GemvKernel gemv_avx512_blocks(bool is_int4);
/// int8 weights, x as 16-bit fixed point, by vpdpbusd on 32 bytes (Isa::kAvxVnni).
GemvKernel gemv_avx_vnni();
#endif

#if defined(__aarch64__)
/// int8 weights, x as 16-bit fixed point (FEAT_DotProd).
GemvKernel gemv_neon_dot();
/// bf16 weights, products in pairs (FEAT_BF16).
GemvKernel gemv_neon_bf16();
#endif

#if HEADROOM_HAS_SVE
// Vectors of 128 to 2048 bits.

/// bf16 or int8 weights, converted to f32 (SVE).
GemvKernel gemv_sve_exact(std::string_view dtype);
/// int8 weights, x as 16-bit fixed point, by sdot (SVE).
GemvKernel gemv_sve_dot();
/// bf16 weights, products in pairs, by bfdot (SVE and FEAT_BF16).
GemvKernel gemv_sve_bf16();
#endif

}  // namespace headroom::native
