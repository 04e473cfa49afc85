// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/device_ops.cuh"

/// Products of weights as they lie in memory with x of bf16, summed in f32.
namespace headroom::cuda {

struct Int8Weights {
  static constexpr unsigned kBytes = 1;
};
struct Bf16Weights {
  static constexpr unsigned kBytes = 2;
};
/// How many weights a vector holds.
template <typename Weights>
constexpr unsigned kLength = kVectorBytes / Weights::kBytes;

/// Values of x as floats, from pairs of bf16.
template <unsigned kCount>
__device__ inline void unpack(const std::uint32_t (&pairs)[kCount / 2], float (&values)[kCount]) {
#pragma unroll
  for (unsigned i = 0; i < kCount / 2; ++i) {
    values[2 * i] = low_bf16(pairs[i]);
    values[2 * i + 1] = high_bf16(pairs[i]);
  }
}

/// Byte `kByte` of four, each 128 more than the int8 that it stands for, as a float: behind the exponent of
/// 2^23 it is the integer part. Conversion instructions would run at a fraction of this one's rate.
template <unsigned kByte>
__device__ inline float int8_value(std::uint32_t raised) {
  return __uint_as_float(__byte_perm(raised, 0x4B000000U, 0x7650U + kByte)) - 8388736.0F;
}

/// Adds the products of a vector of weights with x to two sums: two, so that an addition need not wait for
/// the one before it.
__device__ inline void add_products(Int8Weights /*of*/, const Vector& weights, const float (&x)[16],
                                    float (&sums)[2]) {
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t raised = weights.words[i] ^ 0x80808080U;
    sums[0] = fmaf(int8_value<0>(raised), x[4 * i], sums[0]);
    sums[1] = fmaf(int8_value<1>(raised), x[4 * i + 1], sums[1]);
    sums[0] = fmaf(int8_value<2>(raised), x[4 * i + 2], sums[0]);
    sums[1] = fmaf(int8_value<3>(raised), x[4 * i + 3], sums[1]);
  }
}
__device__ inline void add_products(Bf16Weights /*of*/, const Vector& weights, const float (&x)[8],
                                    float (&sums)[2]) {
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    sums[0] = fmaf(low_bf16(weights.words[i]), x[2 * i], sums[0]);
    sums[1] = fmaf(high_bf16(weights.words[i]), x[2 * i + 1], sums[1]);
  }
}

}  // namespace headroom::cuda
