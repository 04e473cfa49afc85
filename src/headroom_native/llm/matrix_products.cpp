// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/matrix_products.h"

#include <algorithm>

namespace headroom::native {
namespace {

/// Up to here vectors are multiplied one by one: unpacking weights costs as much as so many.
constexpr std::size_t kMostFew = 8;
std::size_t few_of(LlmFormat format) {
  if (format == LlmFormat::kBf16) return 1;
  return format == LlmFormat::kInt8 ? kMostFew : 5;
}
bool are_few(LlmFormat format, std::size_t vectors) {
  return vectors <= few_of(format);
}
/// Weights that stay in the second-level cache while few vectors are multiplied with them.
constexpr std::size_t kBlockBytes = std::size_t{192} << 10;
/// Groups of rows for a gemv that takes four at once.
constexpr std::size_t kRowsAtOnce = 4;

/// Columns that are multiplied before the next ones are: of many vectors the rows that are under way (8 of 4
/// KiB) stay in the first-level cache, and all vectors (128 of 4 KiB) in the second. A multiple of a block.
constexpr std::size_t kColumnsOfMany = 2048;
constexpr std::size_t kManyVectors = 16;

std::size_t columns_at_once(std::size_t columns, std::size_t vectors) {
  return vectors < kManyVectors ? columns : std::min(columns, kColumnsOfMany);
}

}  // namespace

MatrixProducts::MatrixProducts(Isa isa, std::size_t columns)
    : many_(gemm_kernel(isa)),
      unpack_super_(unpack_super_blocks(isa)),
      unpacked_(many_.rows * columns * sizeof(Bf16)) {
  for (std::size_t format = 0; format < kernels_.size(); ++format)
    kernels_[format] = gemv_kernel(name_of(static_cast<LlmFormat>(format)), isa);
  for (std::size_t i = 0; i < kMostFew; ++i) prepared_.emplace_back(prepared_bytes(columns));
}

void MatrixProducts::multiply(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products) {
  if (products.empty() || rows.size() == 0) return;
  if (are_few(matrix.format, products.size())) {
    multiply_few(matrix, rows, products);
  } else {
    multiply_many(matrix, rows, products);
  }
  if (matrix.scales == nullptr) return;
  for (const LlmProduct& product : products) {
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      product.sums[row] *= to_float(matrix.scales[row]);
  }
}

void MatrixProducts::multiply_few(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products) {
  const GemvKernel& one = kernel(matrix.format);
  for (std::size_t i = 0; i < products.size(); ++i)
    one.prepare(products[i].x, matrix.columns, prepared_[i].data());
  const std::size_t row_bytes = matrix.row_bytes();
  const std::size_t block = std::max<std::size_t>(1, kBlockBytes / row_bytes / kRowsAtOnce) * kRowsAtOnce;
  const std::size_t step = products.size() == 1 ? rows.size() : block;
  for (std::size_t row = rows.begin; row < rows.end; row += step) {
    const std::size_t count = std::min(step, rows.end - row);
    GemvWalk walk = one.far_walk;
    for (std::size_t i = 0; i < products.size(); ++i) {
      one.multiply(matrix.weights + row * row_bytes, count, matrix.columns, prepared_[i].data(), walk,
                   products[i].sums + row);
      walk = Reach::kNear;
    }
  }
}

void MatrixProducts::multiply_many(const LlmMatrix& matrix, Slice rows,
                                   std::span<const LlmProduct> products) {
  vectors_.resize(products.size());
  sums_.resize(products.size());
  const std::size_t step = columns_at_once(matrix.columns, products.size());
  for (std::size_t column = 0; column < matrix.columns; column += step) {
    const Slice columns{column, std::min(column + step, matrix.columns)};
    for (std::size_t i = 0; i < products.size(); ++i) vectors_[i] = products[i].x + column;
    for (std::size_t row = rows.begin; row < rows.end; row += many_.rows)
      multiply_rows(matrix, {row, std::min(row + many_.rows, rows.end)}, columns, products);
  }
}

/// A group of rows, for some of their columns. What the next group will read is prefetched.
void MatrixProducts::multiply_rows(const LlmMatrix& matrix, Slice rows, Slice columns,
                                   std::span<const LlmProduct> products) {
  const std::size_t stride = matrix.row_bytes(), ahead = many_.rows * stride;
  const std::size_t start = row_bytes(matrix.format, columns.begin);
  const bool is_plain = matrix.format == LlmFormat::kBf16;
  const Bf16* lines[kMostGemmRows];
  for (std::size_t i = 0; i < many_.rows; ++i) {
    const std::size_t row = std::min(rows.begin + i, rows.end - 1);
    const std::byte* const from = matrix.weights + row * stride + start;
    Bf16* const to = unpacked_.as<Bf16>().data() + std::min(i, rows.size() - 1) * columns.size();
    if (!is_plain && i < rows.size()) {
      const auto unpack = block_columns(matrix.format) == 256 ? unpack_super_ : many_.unpack;
      unpack(matrix.dtype(), from, columns.size(), ahead, to);
    }
    lines[i] = is_plain ? reinterpret_cast<const Bf16*>(from) : to;
  }
  for (std::size_t i = 0; i < products.size(); ++i) sums_[i] = products[i].sums + rows.begin;
  many_.multiply(lines, rows.size(), columns.size(), vectors_.data(), products.size(), columns.begin > 0,
                 is_plain ? ahead : 0, sums_.data());
}

const char* dtype_of_products(LlmFormat format, std::size_t vectors, Isa isa) {
  return are_few(format, vectors) ? gemv_kernel(name_of(format), isa).products : "bf16";
}

}  // namespace headroom::native
