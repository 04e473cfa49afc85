// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/convert.h"

#include "headroom_cuda/kernels/convert_kernel.cuh"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {

void launch_convert(const std::int8_t* from, std::uint16_t* to, std::size_t count, unsigned processors,
                    cudaStream_t stream) {
  convert_kernel<<<8 * processors, 256, 0, stream>>>(from, to, count);
  check_launch("convert_kernel");
}

}  // namespace headroom::cuda
