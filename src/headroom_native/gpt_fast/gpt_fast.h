// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// y = W.to(bf16) @ x: W[D,D] of `dtype`, x[D] and y[D] of bf16, sums in f32. Counts the bytes of W only,
/// like PyTorch's benchmark.
void gemv(State& state);

/// y = W[[3, 5]].to(bf16) @ x: W[8,D,D] of `dtype`, x[D] and y[2,D] of bf16, sums in f32. Counts the bytes of
/// the two matrices only. When cold, iterations use the disjoint pairs of a W (3 and 5 first) before the next
/// copy.
void gather_gemv(State& state);

/// y = LayerNorm(x) over the rows of x[BS,D]: x and y of bf16, gamma and beta of f32 (torch's default),
/// computed in f32. Counts the bytes of x and y.
void layer_norm(State& state);

/// y = LayerNorm(Linear(LayerNorm(Linear(x)))): x[D] and y[D], `hidden` values in between, of bf16. No GELU,
/// like PyTorch's benchmark. Linear results stay in f32; hidden activations are rounded to bf16. Counts the
/// matrices' FLOPs and bytes.
void mlp_layer_norm_gelu(State& state);

}  // namespace headroom::native
