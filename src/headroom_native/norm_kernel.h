// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "headroom/experiment/bf16.h"
#include "headroom/workload/oracle.h"
#include "headroom_native/isa.h"

namespace headroom::native {

/// Where results go.
enum class Stores {
  kCached,       ///< into the caches
  kAroundCaches  ///< to memory, where the instruction set and the alignment allow it
};

/// y = (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta over each row; arithmetic in f32, the
/// variance over centred values and divided by the number of columns.
struct NormKernel {
  /// Brings gamma and beta into the form that `rows` reads: `prepared` holds prepared_norm_floats(columns).
  void (*prepare)(const float* gamma, const float* beta, std::size_t columns, float* prepared) = nullptr;
  /// Rows of bf16, row-major without gaps.
  void (*rows)(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, Stores stores,
               Bf16* y) = nullptr;
  /// One row of f32 with parameters of bf16.
  void (*vector)(const float* x, std::size_t columns, const Bf16* gamma, const Bf16* beta, Bf16* y) = nullptr;
  std::string isa;
};

constexpr std::size_t prepared_norm_floats(std::size_t columns) {
  return 4 * ((columns + 1) / 2 + 16);
}

NormKernel norm_kernel(Isa isa);

}  // namespace headroom::native
