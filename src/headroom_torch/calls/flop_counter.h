// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace headroom::torch_runner {

/// FLOPs of one call of an operator, a multiplication and an addition being two: the formulas of PyTorch's
/// FlopCounterMode (torch/utils/flop_counter.py) for mm, addmm, bmm, baddbmm, convolution and attention; and
/// those of products with a vector, which it leaves out. Nothing for any other operator, or arguments that
/// are not as its schema has them.
std::optional<double> op_flops(std::string_view name, c10::ArrayRef<const c10::IValue> arguments);

/// FLOPs of what a program called.
struct FlopCount {
  double flops = 0;
  std::map<std::string, std::int64_t> counted;      ///< calls by operator
  std::map<std::string, std::int64_t> not_counted;  ///< operators that compute and have no formula
  std::set<std::string> dtypes;  ///< of what was counted: "f32", "bf16"; torch's names of others
};

/// Calls `run` once and adds up what op_flops() says of the operators that it calls. Operators that are parts
/// of a counted one are not counted again; those that only make, view or reshape tensors are not named.
FlopCount count_flops(const std::function<void()>& run);

/// "aten::relu x2, aten::add": the first eight by name, and how many more there are.
std::string calls_text(const std::map<std::string, std::int64_t>& calls);

}  // namespace headroom::torch_runner
