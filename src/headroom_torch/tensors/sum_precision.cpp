// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/sum_precision.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <vector>

#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

/// The smallest number that bf16 cannot add 1 to.
constexpr float kLarge = 256;
/// What may be missing of the ones: rounding the result to bf16 costs 2^-8 of them.
constexpr double kAllowed = 1.0 / 16;

/// One row: a pattern of large, one, -large (of which there are as many) over stretches of `period` columns.
std::vector<float> probing_row(std::int64_t columns, std::int64_t row) {
  constexpr std::array<std::array<float, 3>, 2> kOrders{{{kLarge, 1, -kLarge}, {-kLarge, 1, kLarge}}};
  std::vector<float> values(static_cast<std::size_t>(columns), 0);
  const std::int64_t parts = std::int64_t{1} << (row / 2 % 4);
  const std::int64_t third = std::max<std::int64_t>(1, columns / parts / 3);
  const auto& order = kOrders[static_cast<std::size_t>(row % 2)];
  for (std::int64_t begin = 0; begin + 3 * third <= columns; begin += 3 * third) {
    for (std::int64_t i = 0; i < 3 * third; ++i)
      values[static_cast<std::size_t>(begin + i)] = order[static_cast<std::size_t>(i / third)];
  }
  return values;
}

at::Tensor probing_weights(at::IntArrayRef sizes) {
  std::vector<std::int64_t> probed = sizes.vec();
  const std::int64_t columns = probed.back();
  std::int64_t& rows = probed[probed.size() - 2];
  rows = std::min(rows, kProbedRows);
  constexpr std::int64_t kPatterns = 8;
  std::vector<at::Tensor> patterns;
  for (std::int64_t row = 0; row < std::min(rows, kPatterns); ++row)
    patterns.push_back(at::tensor(probing_row(columns, row)));
  const std::int64_t repeats = (rows + kPatterns - 1) / kPatterns;
  const at::Tensor matrix = at::stack(patterns).repeat({repeats, 1}).narrow(0, 0, rows).to(at::kBFloat16);
  return matrix.expand(probed).contiguous();
}

}  // namespace

Precision precision_of_sums(const Product& product, at::IntArrayRef sizes, const Place& place) {
  const at::NoGradGuard no_grad;
  const at::Tensor weights = probing_weights(sizes);
  const at::Tensor x = at::ones({sizes.back()}, at::kBFloat16);
  const at::Tensor expected = weights.to(at::kDouble).sum(-1).flatten();
  const at::Tensor answer = product(placed(weights, place), placed(x, place));
  const at::Tensor off = (answer.to(at::kCPU).to(at::kDouble).flatten() - expected).abs();
  // Not "greater": what a wrong operator answers may be no number.
  return (off <= expected * kAllowed).all().item<bool>() ? Precision::kF32 : Precision::kBf16;
}

}  // namespace headroom::torch_runner
