// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "headroom_cuda/limits/peak_kernels.h"

namespace headroom::cuda {

/// The 128 registers in which each of 128 threads holds its part of a tile of 64 x 256.
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

/// d += a b, both from shared memory by their descriptors. Asynchronous: between the fence and the wait
/// nothing else may touch d.
#define HEADROOM_WGMMA(instruction, letter, tail)                                                 \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned." instruction \
               " {" HEADROOM_WGMMA_REGISTERS "}, %128, %129, p" tail "; }"                        \
               : HEADROOM_WGMMA_128(letter)                                                       \
               : "l"(a), "l"(b), "r"(1))

/// What the accumulators of a type are.
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
/// Waits for all that was committed.
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

}  // namespace headroom::cuda
