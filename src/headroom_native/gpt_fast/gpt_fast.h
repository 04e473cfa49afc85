// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// y = W.to(bf16) @ x: W[D,D] of `dtype`, x[D] and y[D] of bf16, sums in f32. Counts the bytes of W only,
/// as the PyTorch benchmark of this name does; x and y are smaller by D / 2.
void gemv(State& state);

/// y = W[[3, 5]].to(bf16) @ x: W[8,D,D] of `dtype`, x[D] and y[2,D] of bf16, sums in f32. Counts the bytes
/// of the two matrices only, as the PyTorch benchmark of this name does. When cold, iterations go through
/// the disjoint pairs of one W (3 and 5 first) before the next copy of W.
void gather_gemv(State& state);

/// y = LayerNorm(x) over the rows of x[BS,D]: x and y of bf16, gamma and beta of f32 (the default of
/// torch.nn.LayerNorm(D)), arithmetic in f32. Counts the bytes of x read and y written.
void layer_norm(State& state);

/// y = LayerNorm(Linear(LayerNorm(Linear(x)))) of one vector: x[D] and y[D], `hidden` values in between,
/// all weights, biases and parameters of bf16. Named after the PyTorch benchmark, which has no GELU either.
/// Results of the linear layers stay in f32; the hidden activations are rounded to bf16. Counts the FLOPs
/// and bytes of the two matrices.
void mlp_layer_norm_gelu(State& state);

}  // namespace headroom::native
