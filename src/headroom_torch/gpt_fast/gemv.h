// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_torch/tensors/place.h"

namespace headroom::torch_runner {

/// y = W.to(bf16) @ x with at::mv, see GemvWorkload. int8 weights are converted by each call, as the seed's
/// eager code does.
void gemv(State& state, const Place& place);

}  // namespace headroom::torch_runner
