// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/registry.h"

namespace headroom::cuda {

/// Adds every experiment of this folder, the limits of the device included. The registry then needs a CUDA
/// device (Registry::require_with).
void register_cuda_experiments(Registry& registry);

}  // namespace headroom::cuda
