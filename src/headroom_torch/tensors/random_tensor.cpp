// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/random_tensor.h"

#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::torch_runner {
namespace {

at::ScalarType scalar_type(const std::string& dtype) {
  constexpr std::array<std::pair<const char*, at::ScalarType>, 10> kTypes{{{"f64", at::kDouble},
                                                                           {"f32", at::kFloat},
                                                                           {"f16", at::kHalf},
                                                                           {"bf16", at::kBFloat16},
                                                                           {"i64", at::kLong},
                                                                           {"i32", at::kInt},
                                                                           {"i16", at::kShort},
                                                                           {"int8", at::kChar},
                                                                           {"u8", at::kByte},
                                                                           {"bool", at::kBool}}};
  for (const auto& [name, type] : kTypes) {
    if (dtype == name) return type;
  }
  throw Error("headroom-torch has no dtype " + in_quotes(dtype));
}

}  // namespace

at::Tensor random_tensor(const TensorSpec& spec, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::ScalarType type = scalar_type(spec.dtype);
  if (at::isFloatingType(type)) return at::randn(spec.sizes, generator, at::kFloat).to(type);
  return at::randint(spec.low, spec.high + 1, spec.sizes, generator, at::kLong).to(type);
}

}  // namespace headroom::torch_runner
