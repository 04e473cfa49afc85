// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/matrix_operands.h"

#include <bit>
#include <random>
#include <stdexcept>
#include <string>

namespace headroom::cuda {
namespace {

/// eighths / 8 for |eighths| <= 15: sign, exponent and mantissa of a type with a bias and a number of
/// mantissa bits.
std::uint64_t encoded(int eighths, int bias, int mantissa_bits) {
  const std::uint64_t sign = eighths < 0 ? 1 : 0;
  const auto magnitude = static_cast<std::uint64_t>(eighths < 0 ? -eighths : eighths);
  const int sign_at = mantissa_bits + std::bit_width(static_cast<unsigned>(2 * bias));
  if (magnitude == 0) return sign << sign_at;
  const int top = static_cast<int>(std::bit_width(magnitude)) - 1;
  const auto exponent = static_cast<std::uint64_t>(bias + top - 3);
  const std::uint64_t fraction = (magnitude - (std::uint64_t{1} << top)) << (mantissa_bits - top);
  return sign << sign_at | exponent << mantissa_bits | fraction;
}

std::uint64_t bits_of(MatrixType type, int number) {
  switch (type) {
    case MatrixType::kF64:
      return encoded(number, 1023, 52);
    case MatrixType::kTf32:
      return encoded(number, 127, 23);
    case MatrixType::kF16:
      return encoded(number, 15, 10);
    case MatrixType::kBf16:
      return encoded(number, 127, 7);
    case MatrixType::kFp8:
      return encoded(number, 7, 3);
    case MatrixType::kInt8:
      return static_cast<std::uint8_t>(number);
  }
  return 0;
}

}  // namespace

MatrixType matrix_type(std::string_view dtype) {
  if (dtype == "f64") return MatrixType::kF64;
  if (dtype == "tf32") return MatrixType::kTf32;
  if (dtype == "f16") return MatrixType::kF16;
  if (dtype == "bf16") return MatrixType::kBf16;
  if (dtype == "fp8") return MatrixType::kFp8;
  if (dtype == "int8") return MatrixType::kInt8;
  throw std::logic_error("no matrix instruction multiplies " + std::string(dtype));
}

unsigned elements_per_row(MatrixType type) {
  switch (type) {
    case MatrixType::kF64:
      return kRowBytes / 8;
    case MatrixType::kTf32:
      return kRowBytes / 4;
    case MatrixType::kF16:
    case MatrixType::kBf16:
      return kRowBytes / 2;
    default:
      return kRowBytes;
  }
}

MatrixOperand matrix_operand(MatrixType type, std::size_t rows, std::uint64_t seed) {
  const bool is_integer = type == MatrixType::kInt8;
  const std::size_t element_bytes = kRowBytes / elements_per_row(type);
  std::mt19937_64 random(seed);
  MatrixOperand operand;
  for (std::size_t i = 0; i < rows * elements_per_row(type); ++i) {
    const int number =
        is_integer ? static_cast<int>(random() % 255) - 127 : static_cast<int>(random() % 31) - 15;
    const std::uint64_t bits = bits_of(type, number);
    for (std::size_t byte = 0; byte < element_bytes; ++byte) {
      operand.bytes.push_back(static_cast<std::byte>(bits >> 8 * byte & 0xff));
    }
    operand.values.push_back(is_integer ? number : number / 8.0);
  }
  return operand;
}

double dot(const MatrixOperand& a, std::size_t row, const MatrixOperand& b, std::size_t column,
           unsigned elements) {
  double sum = 0;
  for (unsigned i = 0; i < elements; ++i)
    sum += a.values[row * elements + i] * b.values[column * elements + i];
  return sum;
}

}  // namespace headroom::cuda
