// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Backends "cuda", "cublas" and "cublaslt".
void gemv(State& state);

/// Backend "cuda" reads the chosen indices on the device; "cublas" and "cublaslt" get them from the host.
void gather_gemv(State& state);

/// Backend "cuda".
void layer_norm(State& state);

/// Backends "cuda" (two launches for the four layers) and "cublaslt".
void mlp_layer_norm_gelu(State& state);

/// Variants of "cuda": when the second launch starts.
std::vector<std::string> mlp_variants();

}  // namespace headroom::cuda
