// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_torch/tensors/place.h"

namespace headroom::torch_runner {

/// Linear, LayerNorm, Linear, LayerNorm, see MlpWorkload. ATen rounds between linear and LayerNorm, which the
/// fused chain does not: the tolerance is wider.
void mlp_layer_norm_gelu(State& state, const Place& place);

}  // namespace headroom::torch_runner
