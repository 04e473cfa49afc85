// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/tensor_arguments.h"

namespace headroom::trace {

enum class MathType : std::uint8_t { kF64, kF32, kTf32, kF16, kBf16, kF8, kI8 };
const char* to_string(MathType type);

/// Least work of an operator: every input read once, every output written once.
struct OpCost {
  double flops = 0;
  double bytes = 0;
  MathType math = MathType::kF32;
  bool is_product = false;  ///< can run on matrix units
};

/// Arguments of a call, as in the trace; each may be empty.
struct OpCall {
  std::string_view name;                  ///< "aten::addmm"
  std::vector<TensorArgument> arguments;  ///< of "Input Dims" and "Input type"
  std::vector<std::string_view> values;   ///< of "Concrete Inputs": "[1, 1]", "True", ""
};

/// Nothing if the operator is unknown or the trace lacks a value that the cost depends on (a stride, a mask):
/// costs are never guessed. `parent`: the calling operator, if any, where old traces keep the shapes of a
/// convolution's gradients.
///
/// FLOPs; a multiplication and an addition count as one each:
///   matrix products         2 m n k; without bias and scaling of the result
///   convolution             2 * output elements * weight elements / output channels;
///                           each gradient the same with the gradient of the output
///   attention               2 * (query, key) pairs * (head size + value size) per head; backward
///                           2.5 times as much (5 products for 2); causal: unmasked pairs only
///   elementwise             1 per output element (2 for fused multiply-add forms)
///   softmax                 5 per element (maximum, subtract, exponential, sum, divide); backward 4
///   normalisation           8 per element (mean 1, variance 3, normalise 2, affine 2); backward 11
///   copies, fills, lookups  0
std::optional<OpCost> op_cost(const OpCall& call, const OpCall* parent);

}  // namespace headroom::trace
