// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// The experiment layer_norm: backend "cuda".
void layer_norm(State& state);

}  // namespace headroom::cuda
