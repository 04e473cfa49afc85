// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/tensor_arguments.h"

namespace headroom::trace {

/// Which of a device's peaks bounds the arithmetic of an operator.
enum class MathType : std::uint8_t { kF64, kF32, kTf32, kF16, kBf16, kF8, kI8 };
const char* to_string(MathType type);

/// What an operator has to do at least. Bytes: every input read once, every output written once.
struct OpCost {
  double flops = 0;
  double bytes = 0;
  MathType math = MathType::kF32;
  bool is_product = false;  ///< of matrices: the device's matrix units can do it
};

/// The arguments of a call of an operator as the trace has them; each may be empty.
struct OpCall {
  std::string_view name;                  ///< "aten::addmm"
  std::vector<TensorArgument> arguments;  ///< of "Input Dims" and "Input type"
  std::vector<std::string_view> values;   ///< of "Concrete Inputs": "[1, 1]", "True", ""
};

/// The cost of the call, or nothing where the operator is not known or the trace does not hold what the cost
/// depends on (a stride, a mask): costs are never guessed. `parent` is the operator that called it, where
/// there is one: old traces have the shapes of a convolution's gradients there.
///
/// FLOPs, a multiplication and an addition each being one:
///   products of matrices  2 m n k; bias and scaling of the result are not counted
///   convolution           2 * elements of the output * elements of the weight / output channels; each
///   gradient
///                         the same with the gradient of the output
///   attention             2 * pairs of query and key * (head size + value size) per head; backward 2.5 times
///                         as much (5 products for 2); with a causal mask only the pairs that are not masked
///   elementwise           1 per element of the output (2 for fused multiply-add forms), whatever the
///   function softmax               5 per element (maximum, subtract, exponential, sum, divide); backward 4
///   normalisation         8 per element (mean 1, variance 3, normalise 2, scale and shift 2); backward 11
///   copies, fills, lookups 0
std::optional<OpCost> op_cost(const OpCall& call, const OpCall* parent);

}  // namespace headroom::trace
