// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/weight_products.cuh"

namespace headroom::cuda {

/// Values of int8 as bf16, which is exact. Both begin at a multiple of 16 bytes.
inline __global__ void __launch_bounds__(256)
    convert_kernel(const std::int8_t* from, std::uint16_t* to, std::size_t count) {
  constexpr std::size_t kEach = kVectorBytes;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x * kEach;
  for (std::size_t at = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * kEach; at < count;
       at += step) {
    if (at + kEach > count) {
      for (std::size_t i = at; i < count; ++i) to[i] = bf16_bits(static_cast<float>(from[i]));
      continue;
    }
    const Vector read = load_once(from + at);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      Vector written;
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
        const std::uint32_t raised = read.words[2 * half + i] ^ 0x80808080U;
        written.words[2 * i] = bf16_pair(int8_value<0>(raised), int8_value<1>(raised));
        written.words[2 * i + 1] = bf16_pair(int8_value<2>(raised), int8_value<3>(raised));
      }
      store_once(to + at + 8 * half, written);
    }
  }
}

}  // namespace headroom::cuda
