// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "headroom/experiment/tensor_spec.h"

namespace headroom::torch_runner {

/// A contiguous tensor of what `spec` says, by `seed`.
at::Tensor random_tensor(const TensorSpec& spec, std::uint64_t seed);

}  // namespace headroom::torch_runner
