// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// PyTorch's name of a dtype: "bfloat16" for "bf16", "float32" for "f32"; any other name as it is. What the
/// files and targets of PyTorch's benchmarks use.
std::string torch_dtype(std::string_view dtype);

}  // namespace headroom
