// SPDX-License-Identifier: Apache-2.0
// Compiled for sm_90a only: other targets have no wgmma.

#include <cstdint>

#include "headroom_cuda/limits/peak_kernels.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {

/// A thread's part of a tile of 64 x 256.
#define HEADROOM_WGMMA_REGISTERS                                                                 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define HEADROOM_WGMMA_4(letter, i) \
  "+" letter(d[i]), "+" letter(d[(i) + 1]), "+" letter(d[(i) + 2]), "+" letter(d[(i) + 3])
#define HEADROOM_WGMMA_16(letter, i)                                                                 \
  HEADROOM_WGMMA_4(letter, i), HEADROOM_WGMMA_4(letter, (i) + 4), HEADROOM_WGMMA_4(letter, (i) + 8), \
      HEADROOM_WGMMA_4(letter, (i) + 12)
#define HEADROOM_WGMMA_128(letter)                                                                 \
  HEADROOM_WGMMA_16(letter, 0), HEADROOM_WGMMA_16(letter, 16), HEADROOM_WGMMA_16(letter, 32),      \
      HEADROOM_WGMMA_16(letter, 48), HEADROOM_WGMMA_16(letter, 64), HEADROOM_WGMMA_16(letter, 80), \
      HEADROOM_WGMMA_16(letter, 96), HEADROOM_WGMMA_16(letter, 112)

/// d += a b from shared memory; asynchronous: d must not be touched between fence and wait.
#define HEADROOM_WGMMA(instruction, letter, tail)                                                 \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned." instruction \
               " {" HEADROOM_WGMMA_REGISTERS "}, %128, %129, p" tail "; }"                        \
               : HEADROOM_WGMMA_128(letter)                                                       \
               : "l"(a), "l"(b), "r"(1))

template <MatrixType kType>
struct Accumulator {
  using Type = float;
};
template <>
struct Accumulator<MatrixType::kInt8> {
  using Type = std::int32_t;
};

template <MatrixType kType>
__device__ __forceinline__ void wgmma(typename Accumulator<kType>::Type (&d)[128], std::uint64_t a,
                                      std::uint64_t b) {
  if constexpr (kType == MatrixType::kTf32) HEADROOM_WGMMA("m64n256k8.f32.tf32.tf32", "f", ", 1, 1");
  if constexpr (kType == MatrixType::kF16) HEADROOM_WGMMA("m64n256k16.f32.f16.f16", "f", ", 1, 1, 0, 0");
  if constexpr (kType == MatrixType::kBf16) HEADROOM_WGMMA("m64n256k16.f32.bf16.bf16", "f", ", 1, 1, 0, 0");
  if constexpr (kType == MatrixType::kFp8) HEADROOM_WGMMA("m64n256k32.f32.e4m3.e4m3", "f", ", 1, 1");
  if constexpr (kType == MatrixType::kInt8) HEADROOM_WGMMA("m64n256k32.s32.s8.s8", "r", "");
}

#undef HEADROOM_WGMMA
#undef HEADROOM_WGMMA_128
#undef HEADROOM_WGMMA_16
#undef HEADROOM_WGMMA_4
#undef HEADROOM_WGMMA_REGISTERS

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

inline namespace wgmma_peak_cu {

// Not swizzled: contiguous core matrices (8 rows of 16 bytes), first over the rows, then over the next 16
// bytes.
constexpr unsigned kCoreBytes = 16;
constexpr unsigned kABytes = kWgmmaSteps * kWgmmaRows * kRowBytes;
constexpr unsigned kBBytes = kWgmmaSteps * kWgmmaColumns * kRowBytes;
constexpr unsigned kSharedBytes = kABytes + kBBytes;

/// PTX ISA, "Matrix descriptor format".
__device__ std::uint64_t descriptor(const unsigned char* shared, unsigned rows) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const std::uint64_t leading = rows * kCoreBytes, stride = 8 * kCoreBytes;
  return std::uint64_t{(address & 0x3ffffU) >> 4} | leading >> 4 << 16 | stride >> 4 << 32;
}

/// Copies in the descriptors' order.
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
    // The other group keeps the tensor cores busy.
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

}  // namespace wgmma_peak_cu

void wgmma_tiles(MatrixType type, unsigned blocks, unsigned rounds, const std::byte* a, const std::byte* b,
                 std::uint32_t* out, cudaStream_t stream) {
  static_assert(kSharedBytes <= 48 * 1024, "more has to be asked for");
  kernel_of(type)<<<blocks, kWgmmaThreads, kSharedBytes, stream>>>(rounds, reinterpret_cast<const uint4*>(a),
                                                                   reinterpret_cast<const uint4*>(b), out);
  check_launch("wgmma_kernel");
}

}  // namespace headroom::cuda
