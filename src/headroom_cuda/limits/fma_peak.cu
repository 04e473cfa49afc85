// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/peak_kernels.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

__global__ void __launch_bounds__(kFmaThreads) fma_kernel(unsigned rounds, float x, float y, float* out) {
  float chains[kFmaChains];
#pragma unroll
  for (unsigned i = 0; i < kFmaChains; ++i) chains[i] = fma_start(threadIdx.x % 32, i);
#pragma unroll 1
  for (unsigned round = 0; round < rounds; round += kFmaRoundsAtOnce) {
#pragma unroll
    for (unsigned i = 0; i < kFmaRoundsAtOnce; ++i) {
#pragma unroll
      for (unsigned chain = 0; chain < kFmaChains; ++chain) chains[chain] = fmaf(chains[chain], x, y);
    }
  }
  float sum = 0;
#pragma unroll
  for (unsigned i = 0; i < kFmaChains; ++i) sum += chains[i];
  out[blockIdx.x * kFmaThreads + threadIdx.x] = sum;
}

}  // namespace

void fma_chains(unsigned blocks, unsigned rounds, float x, float y, float* out, cudaStream_t stream) {
  fma_kernel<<<blocks, kFmaThreads, 0, stream>>>(rounds, x, y, out);
  check_launch("fma_kernel");
}

}  // namespace headroom::cuda
