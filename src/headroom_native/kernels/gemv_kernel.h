// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// Where the weights lie that one thread reads.
enum class Reach {
  kNear,  ///< in its own caches: several rows at once, so that each load of x serves all of them
  kFar    ///< behind them: one row after the other, one stream that is prefetched
};

/// Which caches prefetched weights go into, where the CPU tells them apart.
enum class Into {
  kAllCaches,
  kFirstCache,    ///< around the larger ones
  kLargerCaches,  ///< around the first, which holds x and loses it to weights that come ahead of their time
};

/// How a kernel walks over its weights. No walk wins at all sizes (src/headroom_native/kernels/tuning.h
/// chooses). A kernel that does not have one takes the nearest: taken_walk().
struct GemvWalk {
  int rows = 1;              ///< that are read at once: 1, 2 or 4
  std::size_t ahead = 8192;  ///< bytes ahead of its reads that a row is prefetched; 0: it is not
  /// Rows that are read at once lie a quarter of all rows apart: as many long streams, not short ones.
  bool apart = false;
  Into into = Into::kAllCaches;  ///< what is prefetched

  constexpr GemvWalk() = default;
  constexpr GemvWalk(int rows_at_once, std::size_t bytes_ahead, Into caches = Into::kAllCaches)
      : rows(rows_at_once), ahead(bytes_ahead), into(caches) {}
  constexpr bool operator==(const GemvWalk&) const = default;
  constexpr GemvWalk with_rows_apart() const {
    GemvWalk walk = *this;
    walk.apart = true;
    return walk;
  }
  // Where the weights lie implies a walk.
  constexpr GemvWalk(Reach reach)  // NOLINT(google-explicit-constructor)
      : rows(reach == Reach::kNear ? 4 : 1), ahead(reach == Reach::kNear ? 0 : 8192) {}
};

/// What kernels make of `walk`: two walks of which this is the same are the same code on the same numbers.
constexpr GemvWalk taken_walk(GemvWalk walk) {
  walk.rows = walk.rows >= 4 ? 4 : walk.rows >= 2 ? 2 : 1;
  // Around the larger caches goes one stream alone.
  if (walk.ahead == 0 || (walk.into == Into::kFirstCache && walk.rows > 1)) walk.into = Into::kAllCaches;
  return walk;
}

/// Four streams, each long, which the CPU follows by itself too, and x left in the first-level cache.
constexpr GemvWalk kFourStreams = GemvWalk(4, 2048, Into::kLargerCaches).with_rows_apart();

/// How weights of int8 and x meet. Weights of bf16 have the forms kBest and kStrict.
enum class GemvForm {
  kBest,   ///< x as 16-bit fixed point (error 3e-5 of the largest |x|), but on the baseline of x86, where it
           ///< is kStrict
  kTable,  ///< weights to bf16 by a table in registers, exact; only where the CPU has AVX512-BF16 and -VBMI
  kStrict  ///< as exact as f32: x as 24-bit fixed point, or weights to f32
};

/// Rows of a matrix times a vector: y[row] = sum over columns of weights[row][column] * x[column]. NaN and
/// infinities come out as f32 arithmetic has them.
struct GemvKernel {
  /// Brings x into the form that `multiply` reads.
  void (*prepare)(const Bf16* x, std::size_t columns, std::byte* prepared) = nullptr;
  /// Weights are row-major without gaps. Sums are in f32.
  void (*multiply)(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) = nullptr;
  /// y[i] = x[i], rounded to nearest even.
  void (*round)(const float* x, std::size_t count, Bf16* y) = nullptr;
  std::string isa;  ///< "AVX3", "avx512_bf16"
  /// For weights behind the caches where nobody chose a walk for their shape.
  GemvWalk far_walk = kFourStreams;
  /// Whose peak bounds its products: "int8" where x is fixed point and products are of integers.
  const char* products = "bf16";
};

/// Bytes of room that every kernel's `prepare` needs, aligned to 64.
constexpr std::size_t prepared_bytes(std::size_t columns) {
  return columns * sizeof(float) + columns / 8 + 1024;
}

/// `dtype` of the weights: "bf16", "int8", "int8_g32" and "int4" (gemv_blocks.h), or "q4_k", "q5_k" and
/// "q6_k" (gemv_super_blocks.h). Throws std::logic_error for any other, and for kTable where there is none.
GemvKernel gemv_kernel(std::string_view dtype, Isa isa, GemvForm form = GemvForm::kBest);

/// Those of `dtype` that `isa` and this CPU have.
bool has_gemv_form(std::string_view dtype, Isa isa, GemvForm form);

/// The kernel that Highway makes of plain vectors: there on every CPU. `form`: kBest or kStrict.
GemvKernel portable_gemv_kernel(std::string_view dtype, Isa isa, GemvForm form = GemvForm::kStrict);

/// Near where a thread's share of the weights fits half of a second-level cache of ordinary size, and stays
/// there.
Reach reach_of(std::size_t bytes_per_thread, bool hot);

}  // namespace headroom::native
