// SPDX-License-Identifier: Apache-2.0
// Compiled for sm_90a only: other targets have no wgmma.
#include "headroom_cuda/limits/peak_kernels.h"
#include "headroom_cuda/limits/wgmma.cuh"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

// Operands lie in shared memory without swizzling: core matrices of 8 rows of 16 bytes, each 128 bytes in one
// piece, those of the next rows behind it, then those of the next 16 bytes of the rows.
constexpr unsigned kCoreBytes = 16;
constexpr unsigned kABytes = kWgmmaSteps * kWgmmaRows * kRowBytes;
constexpr unsigned kBBytes = kWgmmaSteps * kWgmmaColumns * kRowBytes;
constexpr unsigned kSharedBytes = kABytes + kBBytes;

/// "Matrix descriptor format" in the PTX ISA; `rows` of the operand tell how far its next 16 bytes are.
__device__ std::uint64_t descriptor(const unsigned char* shared, unsigned rows) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const std::uint64_t leading = rows * kCoreBytes, stride = 8 * kCoreBytes;
  return std::uint64_t{(address & 0x3ffffU) >> 4} | leading >> 4 << 16 | stride >> 4 << 32;
}

/// Puts `steps` steps of rows of 32 bytes into the order that the descriptors describe.
__device__ void stage(const uint4* from, unsigned char* shared, unsigned rows) {
  constexpr unsigned kParts = kRowBytes / kCoreBytes;
  for (unsigned i = threadIdx.x; i < kWgmmaSteps * rows * kParts; i += kWgmmaThreads) {
    const unsigned part = i % kParts, row = i / kParts % rows, step = i / kParts / rows;
    *reinterpret_cast<uint4*>(shared + ((step * kParts + part) * rows + row) * kCoreBytes) = from[i];
  }
}

template <typename T>
__device__ void store_tile(const T (&d)[128], std::uint32_t* out) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned i = 0; i < 128; ++i) {
    const unsigned row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
    const unsigned column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    out[row * kWgmmaColumns + column] = reinterpret_cast<const std::uint32_t&>(d[i]);
  }
}

template <MatrixType kType>
__global__ void __launch_bounds__(kWgmmaThreads, 1)
    wgmma_kernel(unsigned rounds, const uint4* a, const uint4* b, std::uint32_t* out) {
  extern __shared__ __align__(128) unsigned char shared[];
  stage(a, shared, kWgmmaRows);
  stage(b, shared + kABytes, kWgmmaColumns);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const std::uint64_t first_a = descriptor(shared, kWgmmaRows);
  const std::uint64_t first_b = descriptor(shared + kABytes, kWgmmaColumns);
  typename Accumulator<kType>::Type tile[128] = {};
#pragma unroll 1
  for (unsigned round = 0; round < rounds; round += kWgmmaRoundsAtOnce) {
    // The other group of the block keeps the tensor cores busy while this one waits.
    wgmma_fence();
#pragma unroll
    for (unsigned i = 0; i < kWgmmaRoundsAtOnce * kWgmmaSteps; ++i) {
      const unsigned step = i % kWgmmaSteps;
      wgmma<kType>(tile, first_a + step * (kWgmmaRows * kRowBytes >> 4),
                   first_b + step * (kWgmmaColumns * kRowBytes >> 4));
    }
    wgmma_commit();
    wgmma_wait();
  }
  if (out != nullptr && threadIdx.x < 128) store_tile(tile, out + blockIdx.x * kWgmmaRows * kWgmmaColumns);
}

using Kernel = void (*)(unsigned, const uint4*, const uint4*, std::uint32_t*);

Kernel kernel_of(MatrixType type) {
  switch (type) {
    case MatrixType::kTf32:
      return wgmma_kernel<MatrixType::kTf32>;
    case MatrixType::kF16:
      return wgmma_kernel<MatrixType::kF16>;
    case MatrixType::kBf16:
      return wgmma_kernel<MatrixType::kBf16>;
    case MatrixType::kFp8:
      return wgmma_kernel<MatrixType::kFp8>;
    case MatrixType::kInt8:
      return wgmma_kernel<MatrixType::kInt8>;
    case MatrixType::kF64:
      break;
  }
  return nullptr;
}

}  // namespace

void wgmma_tiles(MatrixType type, unsigned blocks, unsigned rounds, const std::byte* a, const std::byte* b,
                 std::uint32_t* out, cudaStream_t stream) {
  static_assert(kSharedBytes <= 48 * 1024, "more has to be asked for");
  kernel_of(type)<<<blocks, kWgmmaThreads, kSharedBytes, stream>>>(rounds, reinterpret_cast<const uint4*>(a),
                                                                   reinterpret_cast<const uint4*>(b), out);
  check_launch("wgmma_kernel");
}

}  // namespace headroom::cuda
