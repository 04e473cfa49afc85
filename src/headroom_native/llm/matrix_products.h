// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/workload/llm_weights.h"
#include "headroom/workload/slice.h"
#include "headroom_native/kernels/gemm_kernel.h"
#include "headroom_native/kernels/gemv_kernel.h"
#include "headroom_native/kernels/gemv_super_blocks.h"

namespace headroom::native {

/// A vector that a matrix is multiplied with, and where the product goes: a sum for each row of the matrix.
struct LlmProduct {
  const Bf16* x;
  float* sums;
};

/// What one worker multiplies matrices of every format with. Few vectors are multiplied one by one, so that
/// each weight is used as it lies; many at once, so that each weight is read and unpacked once for all.
class MatrixProducts {
 public:
  /// For matrices of up to `columns` columns.
  MatrixProducts(Isa isa, std::size_t columns);

  /// For the rows of `rows`: product.sums[row] = the matrix' row times product.x.
  void multiply(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products);

  /// The kernel that a single vector is multiplied by.
  const GemvKernel& kernel(LlmFormat format) const { return kernels_[static_cast<std::size_t>(format)]; }

 private:
  void multiply_few(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products);
  void multiply_many(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products);
  void multiply_rows(const LlmMatrix& matrix, Slice rows, Slice columns,
                     std::span<const LlmProduct> products);

  std::array<GemvKernel, std::size(kLlmFormats)> kernels_;  ///< by LlmFormat
  GemmKernel many_;
  UnpackSuperBlocks unpack_super_;
  std::vector<Buffer> prepared_;  ///< of each of few vectors
  Buffer unpacked_;               ///< [many_.rows, columns] of bf16
  std::vector<const Bf16*> vectors_;
  std::vector<float*> sums_;
};

/// The dtype whose peak bounds what MatrixProducts does with so many vectors: "int8" where x becomes fixed
/// point and products are of integers, "bf16" where weights and vectors are multiplied as bf16 or f32.
const char* dtype_of_products(LlmFormat format, std::size_t vectors, Isa isa);

}  // namespace headroom::native
