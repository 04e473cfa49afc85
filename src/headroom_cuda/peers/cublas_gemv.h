// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/peers/peers.h"

namespace headroom::cuda {

/// Matrices of bf16 by cuBLAS. Skips the case where it is missing.
Launch cublas_launch(State& state, Device& device, const PeerMatrices& matrices);

}  // namespace headroom::cuda
