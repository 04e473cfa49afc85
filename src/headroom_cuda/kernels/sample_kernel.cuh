// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/reductions.cuh"
#include "headroom_cuda/kernels/streamed_problem.h"

/// Draws a token by its logits.
namespace headroom::cuda {

constexpr unsigned kSampleThreads = 1024;
constexpr unsigned kKeptLogits = 32;  ///< of a thread, in registers

/// The logit as a number whose order is that of logits; 0 for a NaN, which is never drawn.
__device__ inline std::uint32_t key_of(float logit) {
  if (logit != logit) return 0;
  const std::uint32_t bits = __float_as_uint(logit);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ inline float logit_of(std::uint32_t key) {
  return __uint_as_float((key & 0x80000000U) != 0 ? key & 0x7fffffffU : ~key);
}

/// 64 mixed bits: the last steps of MurmurHash3, by Appleby, with the constants of Stafford's variant 13.
__device__ inline std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31U);
}

/// To every thread: the larger of two, by `value`.
struct Drawn {
  float value = -INFINITY;
  std::uint32_t token = 0;

  __device__ void take(float other, std::uint32_t of) {
    if (other > value || (other == value && of < token)) {
      value = other;
      token = of;
    }
  }
  __device__ void take_of_warp() {
#pragma unroll
    for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) {
      const float other = __shfl_xor_sync(kAllLanes, value, static_cast<int>(apart));
      const float of = __shfl_xor_sync(kAllLanes, __uint_as_float(token), static_cast<int>(apart));
      take(other, __float_as_uint(of));
    }
  }
};

/// One block. The k-th largest key is found bit by bit. Of those at least as large the one is drawn whose
/// logit / temperature plus a number of Gumbel's distribution is largest, which is drawing from the softmax
/// (Gumbel, 1954).
inline __global__ void __launch_bounds__(kSampleThreads) sample_kernel(SampleProblem of) {
  __shared__ float counts[2][kMostWarps];
  __shared__ float values[kMostWarps];
  __shared__ std::uint32_t tokens[kMostWarps];
  let_next_launch_start();
  wait_for_launch_before();
  std::uint32_t kept[kKeptLogits];
#pragma unroll
  for (unsigned i = 0; i < kKeptLogits; ++i) {
    const unsigned at = threadIdx.x + i * blockDim.x;
    kept[i] = at < of.vocab ? key_of(load_written(of.logits + at)) : 0;
  }
  std::uint32_t threshold = 0;
  for (unsigned bit = 32; bit-- > 0;) {
    const std::uint32_t wanted = threshold | 1U << bit;
    unsigned count = 0;
#pragma unroll
    for (const std::uint32_t key : kept) count += key >= wanted ? 1 : 0;
    for (unsigned at = threadIdx.x + kKeptLogits * blockDim.x; at < of.vocab; at += blockDim.x) {
      count += key_of(load_written(of.logits + at)) >= wanted ? 1 : 0;
    }
    // Below 2^24 a sum of floats is exact.
    if (block_sum(static_cast<float>(count), counts[bit % 2]) >= static_cast<float>(of.top_k)) {
      threshold = wanted;
    }
  }
  const std::uint64_t stream = mixed(of.seed + 0x9e3779b97f4a7c15ULL * (load_written(of.sequence.draws) + 1));
  Drawn best;
#pragma unroll 4
  for (unsigned at = threadIdx.x; at < of.vocab; at += blockDim.x) {
    const std::uint32_t key = key_of(load_written(of.logits + at));
    if (key < threshold || key == 0) continue;
    const auto bits = static_cast<std::uint32_t>(mixed(stream + 0x9e3779b97f4a7c15ULL * (at + 1)) >> 41U);
    const float uniform = (static_cast<float>(bits) + 0.5F) * 0x1p-23F;  // never 0 or 1
    const float logit = logit_of(key);
    best.take(logit == INFINITY ? INFINITY : logit / of.temperature - logf(-logf(uniform)), at);
  }
  best.take_of_warp();
  if (threadIdx.x % kWarp == 0) {
    values[threadIdx.x / kWarp] = best.value;
    tokens[threadIdx.x / kWarp] = best.token;
  }
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  best = threadIdx.x < blockDim.x / kWarp ? Drawn{values[threadIdx.x], tokens[threadIdx.x]} : Drawn{};
  best.take_of_warp();
  if (threadIdx.x != 0) return;
  const std::uint32_t next = load_written(of.sequence.next);
  if (next < of.sequence.capacity) of.sequence.tokens[next] = static_cast<std::int32_t>(best.token);
  *of.sequence.draws = load_written(of.sequence.draws) + 1;
}

}  // namespace headroom::cuda
