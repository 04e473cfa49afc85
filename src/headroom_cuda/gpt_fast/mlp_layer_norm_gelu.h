// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// The experiment mlp_layer_norm_gelu: backends "cuda", two launches for the four layers, and "cublaslt".
void mlp_layer_norm_gelu(State& state);

/// Of "cuda": when the second launch starts.
std::vector<std::string> mlp_variants();

}  // namespace headroom::cuda
