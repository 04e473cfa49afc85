// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// y = W.to(bf16) @ x: W[D,D] of `dtype`, x[D] and y[D] of bf16, sums in f32. Its bytes are those of W alone,
/// as the PyTorch benchmark of this name counts them; x and y are D / 2 times less.
void gemv(State& state);

}  // namespace headroom::native
