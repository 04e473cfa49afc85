// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/experiments.h"

namespace {

/// Runs before main().
[[maybe_unused]] const bool registered =
    (headroom::torch_runner::register_torch_experiments(headroom::registry()), true);

}  // namespace
