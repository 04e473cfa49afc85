// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Where the weights that one thread reads are stored.
enum class Reach {
  kNear,  ///< in its own caches: several rows at once, so that each load of x serves all of them
  kFar    ///< behind them: one row after another, as one prefetched stream
};

/// Caches that prefetched weights go into, on CPUs that distinguish them.
enum class Into {
  kAllCaches,
  kFirstCache,    ///< bypasses the larger ones
  kLargerCaches,  ///< bypasses the first, which holds x
};

/// How a kernel walks over its weights. No walk wins at all sizes: src/headroom_native/kernels/tuning.h
/// chooses. A kernel without the walk takes the nearest one, taken_walk().
struct GemvWalk {
  int rows = 1;              ///< read at once: 1, 2 or 4
  std::size_t ahead = 8192;  ///< prefetch distance within a row, in bytes; 0: no prefetch
  /// Rows that are read at once are a quarter of all rows apart: long streams, not short ones.
  bool apart = false;
  Into into = Into::kAllCaches;  ///< target of the prefetch

  constexpr GemvWalk() = default;
  constexpr GemvWalk(int rows_at_once, std::size_t bytes_ahead, Into caches = Into::kAllCaches)
      : rows(rows_at_once), ahead(bytes_ahead), into(caches) {}
  constexpr bool operator==(const GemvWalk&) const = default;
  constexpr GemvWalk with_rows_apart() const {
    GemvWalk walk = *this;
    walk.apart = true;
    return walk;
  }
  // The place of the weights implies a walk.
  constexpr GemvWalk(Reach reach)  // NOLINT(google-explicit-constructor)
      : rows(reach == Reach::kNear ? 4 : 1), ahead(reach == Reach::kNear ? 0 : 8192) {}
};

/// The walk that kernels use for `walk`. Equal results mean the same code on the same numbers.
constexpr GemvWalk taken_walk(GemvWalk walk) {
  walk.rows = walk.rows >= 4 ? 4 : walk.rows >= 2 ? 2 : 1;
  // Only a single stream bypasses the larger caches.
  if (walk.ahead == 0 || (walk.into == Into::kFirstCache && walk.rows > 1)) walk.into = Into::kAllCaches;
  return walk;
}

/// Four long streams, which the hardware prefetcher can follow; x stays in the first-level cache.
constexpr GemvWalk kFourStreams = GemvWalk(4, 2048, Into::kLargerCaches).with_rows_apart();

/// How int8 weights are multiplied by x. Weights of bf16 have the forms kBest and kStrict.
enum class GemvForm {
  kBest,   ///< x as 16-bit fixed point (error 3e-5 of the largest |x|); kStrict on the baseline of x86
  kTable,  ///< weights to bf16 by a table in registers, exact; needs AVX512-BF16 and AVX512-VBMI
  kStrict  ///< as exact as f32: x as 24-bit fixed point, or weights to f32
};

/// Rows of a matrix times a vector: y[row] = sum over columns of weights[row][column] * x[column]. NaN and
/// infinities propagate as in f32 arithmetic.
struct GemvKernel {
  /// Converts x to the form that `multiply` reads.
  void (*prepare)(const Bf16* x, std::size_t columns, std::byte* prepared) = nullptr;
  /// Weights are row-major without gaps. Accumulates in f32.
  void (*multiply)(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) = nullptr;
  /// y[i] = x[i], rounded to nearest even.
  void (*round)(const float* x, std::size_t count, Bf16* y) = nullptr;
  std::string isa;  ///< "AVX3", "avx512_bf16"
  /// Default for weights behind the caches when no walk was tuned for their shape.
  GemvWalk far_walk = kFourStreams;
  /// dtype of the peak that bounds its products: "int8" if x is fixed point and products are of integers.
  const char* products = "bf16";
};

/// Bytes that every kernel's `prepare` needs, aligned to 64.
constexpr std::size_t prepared_bytes(std::size_t columns) {
  return columns * sizeof(float) + columns / 8 + 1024;
}

/// `dtype` of the weights: "bf16", "int8", "int8_g32" and "int4" (gemv_blocks), or "q4_k", "q5_k" and
/// "q6_k" (gemv_super_blocks). Throws std::logic_error for any other dtype, and for kTable without
/// has_gemv_form.
GemvKernel gemv_kernel(std::string_view dtype, Isa isa, GemvForm form = GemvForm::kBest);

/// Whether `isa` and this CPU have `form` for `dtype`.
bool has_gemv_form(std::string_view dtype, Isa isa, GemvForm form);

/// The Highway kernel with plain vectors, available on every CPU. `form`: kBest or kStrict.
GemvKernel portable_gemv_kernel(std::string_view dtype, Isa isa, GemvForm form = GemvForm::kStrict);

/// kNear if a thread's share of the weights stays in half of a typical second-level cache.
Reach reach_of(std::size_t bytes_per_thread, bool hot);

/// Weights in blocks of 32 along a row, each behind a binary16 scale: "int8_g32" (ggml's Q8_0) or "int4"
/// (Q4_0). Columns are a multiple of 32. If the CPU multiplies bytes, x is 16-bit fixed point (error 3e-5
/// of the largest |x|).
GemvKernel gemv_blocks(std::string_view dtype, Isa isa);

/// The Highway kernel with plain vectors, products and sums in f32, available on every CPU.
GemvKernel portable_gemv_blocks(std::string_view dtype, Isa isa);

/// Weights in blocks of 256 along a row, as in ggml's K-quants: "q4_k", "q5_k" or "q6_k". Columns are a
/// multiple of 256. With AVX2 or later and on aarch64 x is 16-bit fixed point (error 3e-5 of the largest
/// |x|), and products that share a scale are summed exactly; the baseline of x86 computes in f32.
GemvKernel gemv_super_blocks(std::string_view dtype, Isa isa);

/// Unpacks `columns` numbers of a row of these formats and rounds them to bf16. Prefetches `ahead` bytes
/// ahead; 0: no prefetch.
using UnpackSuperBlocks = void (*)(std::string_view dtype, const std::byte* from, std::size_t columns,
                                   std::size_t ahead, Bf16* to);
UnpackSuperBlocks unpack_super_blocks(Isa isa);

// Kernels by instructions that Highway does not offer. Call one only if isa.h reports its instruction set.

#if defined(__x86_64__)
/// Weights of bf16, products of bf16 in pairs (AVX512-BF16).
GemvKernel gemv_avx512_bf16();
/// Weights of int8, x as fixed point of 16 bits, or of 24 where `strict` (AVX512-VNNI).
GemvKernel gemv_avx512_vnni(bool strict);
/// Weights of int8, converted to bf16 by 128-entry tables in registers (AVX512-VBMI and AVX512-BF16).
GemvKernel gemv_avx512_table();
/// Weights in blocks of 4 or 8 bits, x as fixed point of 16 bits (AVX512-VNNI).
GemvKernel gemv_avx512_blocks(bool is_int4);
/// Weights of int8, x as fixed point of 16 bits, by vpdpbusd on 32 bytes (Isa::kAvxVnni).
GemvKernel gemv_avx_vnni();
#endif

#if defined(__aarch64__)
/// Weights of int8, x as fixed point of 16 bits (FEAT_DotProd).
GemvKernel gemv_neon_dot();
/// Weights of bf16, products of bf16 in pairs (FEAT_BF16).
GemvKernel gemv_neon_bf16();
#endif

#if HEADROOM_HAS_SVE
// Vectors of 128 to 2048 bits; the CPU determines the length.

/// `dtype` bf16 or int8: weights to f32, as exact as f32 (SVE).
GemvKernel gemv_sve_exact(std::string_view dtype);
/// Weights of int8, x as fixed point of 16 bits, by sdot (SVE).
GemvKernel gemv_sve_dot();
/// Weights of bf16, products of bf16 in pairs, by bfdot (SVE and FEAT_BF16).
GemvKernel gemv_sve_bf16();
#endif

}  // namespace headroom::native
