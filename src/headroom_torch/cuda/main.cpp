// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/cuda/cuda_experiments.h"

namespace {

/// Runs before main(), which the library headroom_runner_main brings.
[[maybe_unused]] const bool registered =
    (headroom::torch_runner::register_torch_cuda_experiments(headroom::registry()), true);

}  // namespace
