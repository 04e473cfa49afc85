// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/peak_kernels.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
inline namespace peak_kernels_cu {

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

/// "Matrix fragments for mma.m16n8k16 with .f64" (PTX ISA). Each operand has four steps of four values a row.
struct F64FragmentA {
  double values[2 * kDmmaSteps];  ///< rows of the upper and the lower half alternate
};
struct F64FragmentB {
  double values[kDmmaSteps];
};

__device__ __forceinline__ void multiply_add(double (&d)[4], const F64FragmentA& a, const F64FragmentB& b) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a.values[0]), "d"(a.values[1]), "d"(a.values[2]), "d"(a.values[3]), "d"(a.values[4]),
        "d"(a.values[5]), "d"(a.values[6]), "d"(a.values[7]), "d"(b.values[0]), "d"(b.values[1]),
        "d"(b.values[2]), "d"(b.values[3]));
#else
#pragma unroll
  for (unsigned i = 0; i < 2 * kDmmaSteps; ++i) {
    double* const half = d + 2 * (i % 2);
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(half[0]), "+d"(half[1])
                 : "d"(a.values[i]), "d"(b.values[i / 2]));
  }
#endif
}

__global__ void __launch_bounds__(kMmaThreads)
    dmma_kernel(unsigned rounds, const double* a, const double* b, double* out) {
  const unsigned row = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  F64FragmentA fragment_a;
  F64FragmentB fragments_b[kDmmaB];
#pragma unroll
  for (unsigned i = 0; i < 2 * kDmmaSteps; ++i) {
    fragment_a.values[i] = a[(i / 2 * kMmaRows + 8 * (i % 2) + row) * 4 + place];
  }
#pragma unroll
  for (unsigned i = 0; i < kDmmaB * kDmmaSteps; ++i) {
    fragments_b[i / kDmmaSteps].values[i % kDmmaSteps] = b[(i * kMmaColumns + row) * 4 + place];
  }
  double tiles[kDmmaTiles][4] = {};
#pragma unroll 1
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < kDmmaTiles; ++i) multiply_add(tiles[i], fragment_a, fragments_b[i % kDmmaB]);
  }
  if (out == nullptr || threadIdx.x >= 32) return;
#pragma unroll
  for (unsigned i = 0; i < kDmmaTiles; ++i) {
    double* const tile = out + (blockIdx.x * kDmmaTiles + i) * kMmaRows * kMmaColumns;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j)
      tile[(row + 8 * (j / 2)) * kMmaColumns + 2 * place + j % 2] = tiles[i][j];
  }
}

/// "Matrix fragments for mma.m16n8k16" (.m16n8k32 for 8-bit types, .m16n8k8 for tf32; PTX ISA): for all types
/// 8 words of 32 bits per row of a and column of b.
struct FragmentA {
  std::uint32_t words[4];
};
struct FragmentB {
  std::uint32_t words[2];
};

template <MatrixType kType>
__device__ __forceinline__ void multiply_add(std::uint32_t (&d)[4], const FragmentA& a, const FragmentB& b) {
#define HEADROOM_MMA(instruction, letter, type)                                                        \
  asm volatile("mma.sync.aligned." instruction                                                         \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                      \
               : "+" letter(reinterpret_cast<type&>(d[0])), "+" letter(reinterpret_cast<type&>(d[1])), \
                 "+" letter(reinterpret_cast<type&>(d[2])), "+" letter(reinterpret_cast<type&>(d[3]))  \
               : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]),  \
                 "r"(b.words[1]))
  if constexpr (kType == MatrixType::kTf32) HEADROOM_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "f", float);
  if constexpr (kType == MatrixType::kF16) HEADROOM_MMA("m16n8k16.row.col.f32.f16.f16.f32", "f", float);
  if constexpr (kType == MatrixType::kBf16) HEADROOM_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "f", float);
  if constexpr (kType == MatrixType::kInt8)
    HEADROOM_MMA("m16n8k32.row.col.s32.s8.s8.s32", "r", std::uint32_t);
#undef HEADROOM_MMA
}

__device__ FragmentA load_a(const std::uint32_t* a) {
  const unsigned row = threadIdx.x % 32 / 4, word = threadIdx.x % 4;
  constexpr unsigned kWords = kRowBytes / 4;
  return {{a[row * kWords + word], a[(row + 8) * kWords + word], a[row * kWords + word + 4],
           a[(row + 8) * kWords + word + 4]}};
}

__device__ FragmentB load_b(const std::uint32_t* b) {
  const unsigned column = threadIdx.x % 32 / 4, word = threadIdx.x % 4;
  constexpr unsigned kWords = kRowBytes / 4;
  return {{b[column * kWords + word], b[column * kWords + word + 4]}};
}

__device__ void store_tile(const std::uint32_t (&d)[4], std::uint32_t* out) {
  const unsigned row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  out[row * kMmaColumns + column] = d[0];
  out[row * kMmaColumns + column + 1] = d[1];
  out[(row + 8) * kMmaColumns + column] = d[2];
  out[(row + 8) * kMmaColumns + column + 1] = d[3];
}

template <MatrixType kType>
__global__ void __launch_bounds__(kMmaThreads)
    mma_kernel(unsigned rounds, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out) {
  FragmentA fragments_a[kMmaA];
  FragmentB fragments_b[kMmaB];
#pragma unroll
  for (unsigned i = 0; i < kMmaA; ++i) fragments_a[i] = load_a(a + i * kMmaRows * kRowBytes / 4);
#pragma unroll
  for (unsigned i = 0; i < kMmaB; ++i) fragments_b[i] = load_b(b + i * kMmaColumns * kRowBytes / 4);
  std::uint32_t tiles[kMmaTiles][4] = {};  // also zero as float
#pragma unroll 4
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < kMmaTiles; ++i) {
      multiply_add<kType>(tiles[i], fragments_a[i % kMmaA], fragments_b[i % kMmaB]);
    }
  }
  if (out == nullptr || threadIdx.x >= 32) return;
  constexpr unsigned kTileWords = kMmaRows * kMmaColumns;
#pragma unroll
  for (unsigned i = 0; i < kMmaTiles; ++i)
    store_tile(tiles[i], out + (blockIdx.x * kMmaTiles + i) * kTileWords);
}

using Kernel = void (*)(unsigned, const std::uint32_t*, const std::uint32_t*, std::uint32_t*);

Kernel kernel_of(MatrixType type) {
  switch (type) {
    case MatrixType::kTf32:
      return mma_kernel<MatrixType::kTf32>;
    case MatrixType::kF16:
      return mma_kernel<MatrixType::kF16>;
    case MatrixType::kBf16:
      return mma_kernel<MatrixType::kBf16>;
    case MatrixType::kInt8:
      return mma_kernel<MatrixType::kInt8>;
    case MatrixType::kF64:
    case MatrixType::kFp8:
      break;
  }
  return nullptr;  // fp8 needs compute capability 8.9
}

}  // namespace peak_kernels_cu

template <typename T>
void fma_chains(unsigned blocks, unsigned rounds, T x, T y, T* out, cudaStream_t stream) {
  fma_kernel<T><<<blocks, kFmaThreads, 0, stream>>>(rounds, x, y, out);
  check_launch("fma_kernel");
}
template void fma_chains(unsigned, unsigned, float, float, float*, cudaStream_t);
template void fma_chains(unsigned, unsigned, double, double, double*, cudaStream_t);

void dmma_tiles(MatrixType /*f64*/, unsigned blocks, unsigned rounds, const std::byte* a, const std::byte* b,
                std::uint32_t* out, cudaStream_t stream) {
  dmma_kernel<<<blocks, kMmaThreads, 0, stream>>>(rounds, reinterpret_cast<const double*>(a),
                                                  reinterpret_cast<const double*>(b),
                                                  reinterpret_cast<double*>(out));
  check_launch("dmma_kernel");
}

void mma_tiles(MatrixType type, unsigned blocks, unsigned rounds, const std::byte* a, const std::byte* b,
               std::uint32_t* out, cudaStream_t stream) {
  kernel_of(type)<<<blocks, kMmaThreads, 0, stream>>>(rounds, reinterpret_cast<const std::uint32_t*>(a),
                                                      reinterpret_cast<const std::uint32_t*>(b), out);
  check_launch("mma_kernel");
}

}  // namespace headroom::cuda
