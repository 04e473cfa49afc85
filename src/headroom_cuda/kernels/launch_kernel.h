// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "headroom_cuda/kernels/launch_start.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {

/// Launches `kernel`, called `name` in errors, and returns without waiting. With Start::kEarly the kernel
/// must wait for the launch before it (wait_for_launch_before) ahead of reading or writing what that one
/// touches. Throws Error where the device refuses the launch.
template <typename... Parameters>
void launch_kernel(const char* name, void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                   Start start, cudaStream_t stream, Parameters... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = start == Start::kEarly ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

}  // namespace headroom::cuda
