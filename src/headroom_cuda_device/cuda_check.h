// SPDX-License-Identifier: Apache-2.0
// No <string>: it costs two seconds per kernel file, as nvcc reads headers several times.
#pragma once

#include <cuda_runtime_api.h>

namespace headroom::cuda {

/// Throws Error if a CUDA runtime call failed: check(cudaMalloc(&p, n), "cudaMalloc").
void check(cudaError_t status, const char* call);

/// Throws Error if the previous launch was refused (block too large, no code for this device).
void check_launch(const char* kernel);

}  // namespace headroom::cuda
