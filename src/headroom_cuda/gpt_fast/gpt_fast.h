// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// The experiment gemv: backends "cuda", "cublas" and "cublaslt".
void gemv(State& state);

/// The experiment gather_gemv: backends "cuda", which reads on the device which matrices are chosen, "cublas"
/// and "cublaslt", which the host tells.
void gather_gemv(State& state);

/// The experiment layer_norm: backend "cuda".
void layer_norm(State& state);

/// The experiment mlp_layer_norm_gelu: backends "cuda", two launches for the four layers, and "cublaslt".
void mlp_layer_norm_gelu(State& state);

/// Of "cuda": when the second launch starts.
std::vector<std::string> mlp_variants();

}  // namespace headroom::cuda
