// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A tensor of random values as the command line asks for it: "f32[1,3,224,224]", "i64[1,128]:0..31999".
struct TensorSpec {
  std::string dtype;                ///< one of tensor_dtypes()
  std::vector<std::int64_t> sizes;  ///< each at least 1; none: a single number
  std::int64_t low = 0, high = 1;   ///< of integers, both included; floats are normal(0,1), bools even

  double elements() const;
  double bytes() const;
};

/// "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "int8", "u8", "bool".
const std::vector<std::string>& tensor_dtypes();

/// DTYPE[SIZE,...] with :LOW..HIGH behind it where the dtype is one of integers; PyTorch's names of dtypes
/// are taken too. Throws Error with the column, counted from 1, of what is wrong.
TensorSpec parse_tensor_spec(std::string_view text);

/// The same text, in the one form that all its spellings have.
std::string to_string(const TensorSpec& spec);

}  // namespace headroom
