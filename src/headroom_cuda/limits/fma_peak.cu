// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/peak_kernels.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kFmaThreads) fma_kernel(unsigned rounds, T x, T y, T* out) {
  T chains[kFmaChains];
#pragma unroll
  for (unsigned i = 0; i < kFmaChains; ++i) chains[i] = fma_start(threadIdx.x % 32, i);
#pragma unroll 1
  for (unsigned round = 0; round < rounds; round += kFmaRoundsAtOnce) {
#pragma unroll
    for (unsigned i = 0; i < kFmaRoundsAtOnce; ++i) {
#pragma unroll
      for (unsigned chain = 0; chain < kFmaChains; ++chain) chains[chain] = fma(chains[chain], x, y);
    }
  }
  T sum = 0;
#pragma unroll
  for (unsigned i = 0; i < kFmaChains; ++i) sum += chains[i];
  out[blockIdx.x * kFmaThreads + threadIdx.x] = sum;
}

}  // namespace

template <typename T>
void fma_chains(unsigned blocks, unsigned rounds, T x, T y, T* out, cudaStream_t stream) {
  fma_kernel<T><<<blocks, kFmaThreads, 0, stream>>>(rounds, x, y, out);
  check_launch("fma_kernel");
}
template void fma_chains(unsigned, unsigned, float, float, float*, cudaStream_t);
template void fma_chains(unsigned, unsigned, double, double, double*, cudaStream_t);

}  // namespace headroom::cuda
