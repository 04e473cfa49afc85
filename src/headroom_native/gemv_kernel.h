// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headroom/experiment/bf16.h"
#include "headroom_native/isa.h"

namespace headroom::native {

/// Where the weights lie that one thread reads.
enum class Reach {
  kNear,  ///< in its own caches: several rows at once, so that each load of x serves all of them
  kFar    ///< behind them: one row after the other, one stream that is prefetched
};

/// Rows of a matrix times a vector: y[row] = sum over columns of weights[row][column] * x[column].
struct GemvKernel {
  /// Brings x into the form that `multiply` reads.
  void (*prepare)(const Bf16* x, std::size_t columns, std::byte* prepared) = nullptr;
  /// Weights are row-major without gaps. Sums are in f32.
  void (*multiply)(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   Reach reach, float* y) = nullptr;
  std::string isa;  ///< "AVX3", "avx512_bf16"
};

/// Bytes of room that every kernel's `prepare` needs, aligned to 64.
constexpr std::size_t prepared_bytes(std::size_t columns) {
  return columns * sizeof(float) + 256;
}

/// `dtype` of the weights: "bf16" or "int8". Throws std::logic_error for any other.
GemvKernel gemv_kernel(std::string_view dtype, Isa isa);

/// Near where a thread's share of the weights fits half of a second-level cache of ordinary size, and stays
/// there.
Reach reach_of(std::size_t bytes_per_thread, bool hot);

}  // namespace headroom::native
