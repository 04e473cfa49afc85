// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "headroom_cuda/kernels/kernel_plan.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {

struct LaunchShape {
  unsigned blocks, threads;
  std::size_t shared_bytes = 0;  ///< per block, in addition to static shared memory
  /// Prefers shared memory over L1; a change between launches costs a reconfiguration.
  bool most_shared = false;
};

/// Does not wait; `name` appears in errors. With Start::kEarly the kernel must call
/// wait_for_previous_launch() before it touches data of the previous launch. Throws Error if the device
/// refuses.
template <typename... Parameters>
void launch_kernel(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Start start,
                   cudaStream_t stream, Parameters... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = start == Start::kEarly ? 1 : 0;
  constexpr std::size_t kUnasked = std::size_t{48} << 10;
  if (shape.shared_bytes > kUnasked) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shape.shared_bytes)),
          name);
  }
  if (shape.most_shared) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared),
          name);
  }
  check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

}  // namespace headroom::cuda
