// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "headroom/base/error.h"

namespace headroom::cuda {

/// Throws Error where a call of CUDA's runtime failed: check(cudaMalloc(&p, n), "cudaMalloc").
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  // The runtime also keeps what is no fault of the context, and the next check of a launch would tell it
  // again.
  cudaGetLastError();
  throw Error(std::string(call) + " failed: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) +
              ")");
}

/// Throws Error where the launch before it was refused (a block too large, no code for this device).
inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

}  // namespace headroom::cuda
