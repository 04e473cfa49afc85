// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_torch/tensors/place.h"

namespace headroom::torch_runner {

/// at::layer_norm over the rows of x, see LayerNormWorkload; gamma and beta as bf16, the only type that every
/// version takes beside an x of bf16.
void layer_norm(State& state, const Place& place);

}  // namespace headroom::torch_runner
