// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {

/// y = W.to(bf16) @ x (GemvWorkload). int8 weights are converted in each call, as in the seed's eager code.
void gemv(State& state, const Place& place);

/// y = W[[3,5]].to(bf16) @ x (GatherGemvWorkload).
void gather_gemv(State& state, const Place& place);

/// at::layer_norm over the rows of x (LayerNormWorkload). gamma and beta are bf16, the only dtype that every
/// version accepts with a bf16 x.
void layer_norm(State& state, const Place& place);

/// Linear, LayerNorm, twice (MlpWorkload). The tolerance covers ATen's rounding in between.
void mlp_layer_norm_gelu(State& state, const Place& place);

}  // namespace headroom::torch_runner
