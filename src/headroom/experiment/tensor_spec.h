// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Random values: "f32[1,3,224,224]", "i64[1,128]:0..31999".
struct TensorSpec {
  std::string dtype;                ///< one of tensor_dtypes()
  std::vector<std::int64_t> sizes;  ///< each at least 1; empty: a single number
  std::int64_t low = 0, high = 1;   ///< of integers, both included; floats are normal(0,1), bools even

  double elements() const;
  double bytes() const;
};

/// "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "int8", "u8", "bool".
const std::vector<std::string>& tensor_dtypes();

/// DTYPE[SIZE,...], for integers with an optional :LOW..HIGH; also PyTorch's names of dtypes. Throws Error
/// with the column, from 1, and the expected text.
TensorSpec parse_tensor_spec(std::string_view text);

/// Canonical.
std::string to_string(const TensorSpec& spec);

}  // namespace headroom
