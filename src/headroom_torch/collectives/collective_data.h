// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

namespace headroom::torch_runner {

/// The number that should be at a place.
using ExpectedValue = std::function<int(std::int64_t place)>;

/// "f32" and its like as ATen's type. Throws Error for what collectives are not measured with.
at::ScalarType collective_scalar_type(const std::string& dtype);

/// Puts the numbers into a contiguous tensor of one of these types.
void fill_with(at::Tensor& tensor, const ExpectedValue& expected);

/// Puts into every place what no collective of such numbers gives.
void poison(at::Tensor& tensor);

/// "element 12 of 1024 is 3, not 5 (37 are wrong)"; empty where every number is as expected.
std::string what_is_wrong(const at::Tensor& tensor, const ExpectedValue& expected);

}  // namespace headroom::torch_runner
