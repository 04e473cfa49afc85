// SPDX-License-Identifier: Apache-2.0
// nvcc reads this header several times for each file with kernels: <string> would take two seconds more.
#pragma once

#include <cuda_runtime_api.h>

namespace headroom::cuda {

/// Throws Error where a call of CUDA's runtime failed: check(cudaMalloc(&p, n), "cudaMalloc").
void check(cudaError_t status, const char* call);

/// Throws Error where the launch before it was refused (a block too large, no code for this device).
void check_launch(const char* kernel);

}  // namespace headroom::cuda
