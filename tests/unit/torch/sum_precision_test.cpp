// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/sum_precision.h"

#include <gtest/gtest.h>

namespace headroom::torch_runner {
namespace {

/// Sums of bf16 in so many interleaved parts, each part and their sum in bf16.
Product in_bf16(std::int64_t lanes) {
  return [lanes](const at::Tensor& weights, const at::Tensor& x) {
    const std::int64_t columns = weights.size(-1);
    at::Tensor parts = at::zeros({weights.size(0), lanes}, at::kBFloat16);
    for (std::int64_t k = 0; k + lanes <= columns; k += lanes)
      parts = parts + weights.narrow(-1, k, lanes) * x.narrow(0, k, lanes);
    for (std::int64_t k = columns - columns % lanes; k < columns; ++k)
      parts.select(1, 0).add_(weights.select(-1, k) * x[k]);
    at::Tensor sum = parts.select(1, 0).clone();
    for (std::int64_t lane = 1; lane < lanes; ++lane) sum = sum + parts.select(1, lane);
    return sum;
  };
}

/// Blocks of columns added exactly, their sums rounded to bf16 and added in bf16: a sum that is split.
Product in_blocks(std::int64_t blocks) {
  return [blocks](const at::Tensor& weights, const at::Tensor& x) {
    const std::int64_t size = weights.size(-1) / blocks;
    at::Tensor sum = at::zeros({weights.size(0)}, at::kBFloat16);
    for (std::int64_t block = 0; block < blocks; ++block) {
      const at::Tensor part = weights.narrow(-1, block * size, size).to(at::kDouble);
      sum = sum + at::mv(part, x.narrow(0, block * size, size).to(at::kDouble)).to(at::kBFloat16);
    }
    return sum;
  };
}

at::Tensor in_f32(const at::Tensor& weights, const at::Tensor& x) {
  return at::matmul(weights.to(at::kFloat), x.to(at::kFloat)).to(at::kBFloat16);
}

TEST(SumPrecision, IsF32WhereOnlyTheResultIsRounded) {
  for (const std::int64_t size : {1, 3, 64, 100, 1024, 4096})
    EXPECT_EQ(precision_of_sums(in_f32, {size, size}, Place{}), Precision::kF32) << size;
  EXPECT_EQ(precision_of_sums(in_f32, {2, 256, 256}, Place{}), Precision::kF32);
}

TEST(SumPrecision, IsBf16InHoweverManyPartsTheSumIsMade) {
  for (const std::int64_t lanes : {1, 2, 8, 16, 32}) {
    for (const std::int64_t size : {128, 1000, 1024})
      EXPECT_EQ(precision_of_sums(in_bf16(lanes), {size, size}, Place{}), Precision::kBf16)
          << lanes << " lanes, " << size;
  }
  for (const std::int64_t blocks : {2, 3, 4})
    EXPECT_EQ(precision_of_sums(in_blocks(blocks), {1024, 1020}, Place{}), Precision::kBf16) << blocks;
}

TEST(SumPrecision, AnOperatorThatAnswersNoNumberDoesNotPassForF32) {
  const auto nan = [](const at::Tensor& weights, const at::Tensor& x) { return at::mv(weights, x) * NAN; };
  EXPECT_EQ(precision_of_sums(nan, {64, 64}, Place{}), Precision::kBf16);
}

TEST(SumPrecision, NoMoreRowsAreMadeThanNeeded) {
  std::int64_t rows = 0;
  const auto product = [&](const at::Tensor& weights, const at::Tensor& x) {
    rows = weights.size(-2);
    return in_f32(weights, x);
  };
  precision_of_sums(product, {1 << 20, 16}, Place{});
  EXPECT_EQ(rows, kProbedRows);
}

}  // namespace
}  // namespace headroom::torch_runner
