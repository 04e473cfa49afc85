// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_torch/tensors/place.h"

namespace headroom::torch_runner {

/// y = W[[3,5]].to(bf16) @ x with at::index_select and at::matmul, see GatherGemvWorkload.
void gather_gemv(State& state, const Place& place);

}  // namespace headroom::torch_runner
