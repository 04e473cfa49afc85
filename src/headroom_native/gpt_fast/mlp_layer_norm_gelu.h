// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// y = LayerNorm(Linear(LayerNorm(Linear(x)))) of one vector: x[D] and y[D], `hidden` values in between, all
/// weights, biases and parameters of bf16. The name is that of the PyTorch benchmark; there is no GELU in it
/// either. Results of the linear layers stay in f32; the hidden activations are rounded to bf16. FLOPs and
/// bytes are those of the two matrices.
void mlp_layer_norm_gelu(State& state);

}  // namespace headroom::native
