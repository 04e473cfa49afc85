// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// y = LayerNorm(x) over the rows of x[BS,D]: x and y of bf16, gamma and beta of f32 (what
/// torch.nn.LayerNorm(D) makes by default), arithmetic in f32. Its bytes are x read and y written.
void layer_norm(State& state);

}  // namespace headroom::native
