// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/device_ops.cuh"

/// Sums over the threads of a warp and of a block. Every thread of it calls.
namespace headroom::cuda {

constexpr unsigned kAllLanes = 0xffffffffU;
constexpr unsigned kMostWarps = 32;  ///< of a block

/// To every lane.
__device__ inline float warp_sum(float value) {
#pragma unroll
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, static_cast<int>(apart));
  }
  return value;
}

/// The sums over a warp of kRows values at once, a power of two: lane l gets that of row l / (32 / kRows).
/// With each exchange half of the rows leaves half of the lanes, so that it takes kRows + 4 exchanges or
/// fewer, not 5 kRows.
template <int kRows>
__device__ inline float warp_sums(float (&sums)[kRows], unsigned lane) {
  unsigned apart = kWarp / 2;
#pragma unroll
  for (int kept = kRows / 2; kept > 0; kept /= 2, apart /= 2) {
    const bool upper = (lane & apart) != 0;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      const float sent = upper ? sums[i] : sums[i + kept];
      const float own = upper ? sums[i + kept] : sums[i];
      sums[i] = own + __shfl_xor_sync(kAllLanes, sent, static_cast<int>(apart));
    }
  }
  float sum = sums[0];
#pragma unroll
  for (; apart > 0; apart /= 2) sum += __shfl_xor_sync(kAllLanes, sum, static_cast<int>(apart));
  return sum;
}

/// To every thread of the block. `shared` may be used again once every thread has passed a barrier.
__device__ inline float block_sum(float value, float (&shared)[kMostWarps]) {
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  value = warp_sum(value);
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / kWarp ? shared[lane] : 0.0F);
}

}  // namespace headroom::cuda
