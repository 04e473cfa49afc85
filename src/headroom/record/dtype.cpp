// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/dtype.h"

#include <array>
#include <utility>

namespace headroom {

std::string torch_dtype(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kNames{{{"bf16", "bfloat16"},
                                                                                 {"f16", "float16"},
                                                                                 {"fp16", "float16"},
                                                                                 {"f32", "float32"},
                                                                                 {"fp32", "float32"},
                                                                                 {"f64", "float64"},
                                                                                 {"fp64", "float64"},
                                                                                 {"s8", "int8"}}};
  for (const auto& [name, torch] : kNames) {
    if (name == dtype) return std::string(torch);
  }
  return std::string(dtype);
}

}  // namespace headroom
