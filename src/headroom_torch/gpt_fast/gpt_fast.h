// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {

/// y = W.to(bf16) @ x with at::mv, see GemvWorkload. int8 weights are converted by each call, as the seed's
/// eager code does.
void gemv(State& state, const Place& place);

/// y = W[[3,5]].to(bf16) @ x with at::index_select and at::matmul, see GatherGemvWorkload.
void gather_gemv(State& state, const Place& place);

/// at::layer_norm over the rows of x, see LayerNormWorkload; gamma and beta as bf16, the only type that every
/// version takes beside an x of bf16.
void layer_norm(State& state, const Place& place);

/// Linear, LayerNorm, Linear, LayerNorm, see MlpWorkload. ATen rounds between linear and LayerNorm, which the
/// fused chain does not: the tolerance is wider.
void mlp_layer_norm_gelu(State& state, const Place& place);

}  // namespace headroom::torch_runner
