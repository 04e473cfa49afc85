// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// y = W[[3, 5]].to(bf16) @ x: W[8,D,D] of `dtype`, x[D] and y[2,D] of bf16, sums in f32. Its bytes are those
/// of the two matrices alone, as the PyTorch benchmark of this name counts them. When cold, iterations go
/// through the disjoint pairs of one W (3 and 5 first) before the next copy of W.
void gather_gemv(State& state);

}  // namespace headroom::native
