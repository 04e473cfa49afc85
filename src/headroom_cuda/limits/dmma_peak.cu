// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/peak_kernels.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

/// Registers as in "Matrix fragments for mma.m16n8k16 with .f64" of the PTX ISA. Of each operand there are
/// four steps of four values a row.
struct FragmentA {
  double values[2 * kDmmaSteps];  ///< rows of the upper and the lower half take turns
};
struct FragmentB {
  double values[kDmmaSteps];
};

__device__ __forceinline__ void multiply_add(double (&d)[4], const FragmentA& a, const FragmentB& b) {
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
  FragmentA fragment_a;
  FragmentB fragments_b[kDmmaB];
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

}  // namespace

void dmma_tiles(MatrixType /*f64*/, unsigned blocks, unsigned rounds, const std::byte* a, const std::byte* b,
                std::uint32_t* out, cudaStream_t stream) {
  dmma_kernel<<<blocks, kMmaThreads, 0, stream>>>(rounds, reinterpret_cast<const double*>(a),
                                                  reinterpret_cast<const double*>(b),
                                                  reinterpret_cast<double*>(out));
  check_launch("dmma_kernel");
}

}  // namespace headroom::cuda
