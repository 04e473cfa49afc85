// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/registry.h"

namespace headroom::torch_runner {

/// Adds the experiments of gpt-fast's benchmark in ATen's operators on a GPU. Backends: "aten_cuda", eager,
/// outputs made anew by each call; "aten_cuda_out", the same operators into outputs made before, where CUDA
/// has such. The registry then needs a CUDA device (Registry::require_with).
void register_torch_cuda_experiments(Registry& registry);

}  // namespace headroom::torch_runner
