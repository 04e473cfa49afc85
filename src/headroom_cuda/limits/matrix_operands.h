// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headroom_cuda/limits/peak_kernels.h"

namespace headroom::cuda {

/// "f64", "tf32", "f16", "bf16", "fp8" (e4m3) or "int8". Throws std::logic_error for another.
MatrixType matrix_type(std::string_view dtype);

/// Elements in the 32 bytes of a row that an instruction takes.
unsigned elements_per_row(MatrixType type);

/// Rows of 32 bytes with values that follow the seed: multiples of 1/8 below 2, of either sign, which every
/// one of the floating-point types has exactly, or any int8. Tensor cores fed with zeros draw less power, and
/// clock higher, than with what programs compute.
struct MatrixOperand {
  std::vector<std::byte> bytes;
  std::vector<double> values;  ///< elements_per_row(type) of each row
};
MatrixOperand matrix_operand(MatrixType type, std::size_t rows, std::uint64_t seed);

/// The sum over `elements` of row `row` of a times row `column` of b, where each has `elements` values.
double dot(const MatrixOperand& a, std::size_t row, const MatrixOperand& b, std::size_t column,
           unsigned elements);

}  // namespace headroom::cuda
