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

/// FLOPs of an operator call (a multiply-add is two); none for an unknown operator or unexpected arguments.
/// Formulas of PyTorch's FlopCounterMode (torch/utils/flop_counter.py), plus matrix-vector and dot products.
std::optional<double> op_flops(std::string_view name, c10::ArrayRef<const c10::IValue> arguments);

struct FlopCount {
  double flops = 0;
  std::map<std::string, std::int64_t> counted;      ///< calls by operator
  std::map<std::string, std::int64_t> not_counted;  ///< operators that compute but have no formula
  std::set<std::string> dtypes;                     ///< of counted calls: "f32", "bf16", else torch's names
};

/// Calls `run` once and sums op_flops() over its operators, without parts of counted operators. Omits
/// operators that only allocate, view or reshape.
FlopCount count_flops(const std::function<void()>& run);

/// "aten::relu x2, aten::add" and the number of those beyond eight.
std::string calls_text(const std::map<std::string, std::int64_t>& calls);

}  // namespace headroom::torch_runner
