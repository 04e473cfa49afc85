// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <functional>

#include "headroom/base/precision.h"
#include "headroom_torch/tensors/place.h"

namespace headroom::torch_runner {

/// The product of weights[..., rows, columns] and x[columns], both of bf16, by the operators that a case
/// calls.
using Product = std::function<at::Tensor(const at::Tensor& weights, const at::Tensor& x)>;

/// The precision that `product` adds in, by what it answers: kF32, or kBf16 where sums lose what bf16 cannot
/// hold. Which it is hangs on libtorch's version, the CPU and the sizes (a product goes to oneDNN, or to a
/// loop of ATen's own), so the operator is asked, at the case's sizes: each row adds a third of 256s, a third
/// of ones, and takes the 256s away again. In f32 the ones are left; in bf16, which has 8 bits, 256 + 1 is
/// 256. In other rows the same comes in shorter stretches and in other orders, for sums that are added in
/// several parts. Of `sizes` (of the weights) no more than kProbedRows rows are made: rows are independent.
Precision precision_of_sums(const Product& product, at::IntArrayRef sizes, const Place& place);

inline constexpr std::int64_t kProbedRows = 1024;

}  // namespace headroom::torch_runner
