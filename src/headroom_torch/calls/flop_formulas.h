// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string_view>

namespace headroom::torch_runner {

/// FLOPs of one call of an operator, a multiplication and an addition being two: the formulas of PyTorch's
/// FlopCounterMode (torch/utils/flop_counter.py) for mm, addmm, bmm, baddbmm, convolution and attention; and
/// those of products with a vector, which it leaves out. Nothing for any other operator, or arguments that
/// are not as its schema has them.
std::optional<double> op_flops(std::string_view name, c10::ArrayRef<const c10::IValue> arguments);

}  // namespace headroom::torch_runner
