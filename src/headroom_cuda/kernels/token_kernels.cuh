// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/reductions.cuh"
#include "headroom_cuda/kernels/streamed_problem.h"

/// What a token goes through beside the matrices of a decoder.
namespace headroom::cuda {

constexpr unsigned kTokenThreads = 256;  ///< of a block of these kernels, but for that which draws

/// x = the embedding of the next token of the sequence, which is from here on under way. One block.
inline __global__ void __launch_bounds__(kTokenThreads)
    embed_kernel(TokenSequence sequence, const std::uint16_t* embedding, float* x, unsigned columns) {
  __shared__ std::uint32_t position;
  let_next_launch_start();
  wait_for_launch_before();
  if (threadIdx.x == 0) {
    position = load_written(sequence.next);
    *sequence.position = position;
    *sequence.next = position + 1;
  }
  __syncthreads();
  const auto token = static_cast<std::size_t>(
      load_written(reinterpret_cast<const std::uint32_t*>(sequence.tokens) + position));
  const std::uint16_t* const from = embedding + token * columns;
  for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) x[i] = bf16_value(from[i]);
}

/// Sums of one head over some of the positions: of exp(score - most), and of values times those.
template <int kPerLane>
struct HeadSums {
  float most = -INFINITY, sum = 0;
  float values[kPerLane] = {};

  /// One more position, or the sums of others.
  __device__ void add(float score, float weight, const float (&of)[kPerLane]) {
    const float larger = fmaxf(most, score);
    if (larger == -INFINITY) return;
    const float kept = expf(most - larger), added = expf(score - larger);
    sum = fmaf(sum, kept, weight * added);
#pragma unroll
    for (unsigned i = 0; i < kPerLane; ++i) values[i] = fmaf(values[i], kept, of[i] * added);
    most = larger;
  }
};

/// The lane's part of a head's vector of f32, turned at `position`. Pairs lie beside each other.
template <int kPerLane>
__device__ inline void load_rotated(const AttentionProblem& of, const float* from, unsigned position,
                                    unsigned lane, float (&values)[kPerLane]) {
  constexpr unsigned kPairs = kPerLane / 2;
  const std::size_t at = std::size_t{position} * kPairs * kWarp + lane * kPairs;
#pragma unroll
  for (unsigned i = 0; i < kPairs; ++i) {
    const float cosine = of.cosines[at + i], sine = of.sines[at + i];
    const float first = load_written(from + lane * kPerLane + 2 * i);
    const float second = load_written(from + lane * kPerLane + 2 * i + 1);
    values[2 * i] = first * cosine - second * sine;
    values[2 * i + 1] = second * cosine + first * sine;
  }
}

template <int kPerLane>
__device__ inline void load_kept(const std::uint16_t* from, unsigned lane,
                                 std::uint32_t (&pairs)[kPerLane / 2]) {
#pragma unroll
  for (unsigned i = 0; i < kPerLane / 2; ++i) {
    pairs[i] = load_written(reinterpret_cast<const std::uint32_t*>(from + lane * kPerLane) + i);
  }
}

/// Merges what the warps of a block have; then the blocks of a head, the last of which to come here writes y.
template <int kPerLane>
__device__ inline void finish_head(const AttentionProblem& of, HeadSums<kPerLane> sums) {
  constexpr unsigned kWarps = kTokenThreads / kWarp, kWidth = kPerLane * kWarp;
  __shared__ float most[kWarps], total[kWarps], values[kWarps][kWidth];
  __shared__ bool last;
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const unsigned head = blockIdx.x / of.splits, split = blockIdx.x % of.splits;
  if (lane == 0) {
    most[warp] = sums.most;
    total[warp] = sums.sum;
  }
#pragma unroll
  for (unsigned i = 0; i < kPerLane; ++i) values[warp][lane * kPerLane + i] = sums.values[i];
  __syncthreads();
  float* const parts = of.parts + std::size_t{head} * of.splits * (kWidth + 2);
  if (warp == 0) {
    for (unsigned other = 1; other < kWarps; ++other) {
      float part[kPerLane];
#pragma unroll
      for (unsigned i = 0; i < kPerLane; ++i) part[i] = values[other][lane * kPerLane + i];
      sums.add(most[other], total[other], part);
    }
    float* const own = parts + split * (kWidth + 2);
#pragma unroll
    for (unsigned i = 0; i < kPerLane; ++i) own[lane * kPerLane + i] = sums.values[i];
    if (lane == 0) {
      own[kWidth] = sums.most;
      own[kWidth + 1] = sums.sum;
    }
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(of.finished + head, 1U) == of.splits - 1;
    if (last) of.finished[head] = 0;
  }
  __syncthreads();
  if (!last || warp != 0) return;
  __threadfence();
  HeadSums<kPerLane> all;
  for (unsigned other = 0; other < of.splits; ++other) {
    const float* const from = parts + other * (kWidth + 2);
    float part[kPerLane];
#pragma unroll
    for (unsigned i = 0; i < kPerLane; ++i) part[i] = load_written(from + lane * kPerLane + i);
    all.add(load_written(from + kWidth), load_written(from + kWidth + 1), part);
  }
#pragma unroll
  for (unsigned i = 0; i < kPerLane; ++i) {
    of.y[std::size_t{head} * kWidth + lane * kPerLane + i] = bf16_bits(all.values[i] / all.sum);
  }
}

/// softmax(q K^T / sqrt(head_dim)) V of a token, whose own keys and values are rotated, rounded and kept.
/// `splits` blocks for each head, each with its share of the positions, of which each warp takes some at a
/// time. Heads of kPerLane times 32 values.
template <int kPerLane>
__global__ void __launch_bounds__(kTokenThreads) attention_kernel(AttentionProblem of) {
  constexpr unsigned kWidth = kPerLane * kWarp, kWarps = kTokenThreads / kWarp, kAtOnce = 4;
  let_next_launch_start();
  wait_for_launch_before();
  const unsigned head = blockIdx.x / of.splits, split = blockIdx.x % of.splits;
  const unsigned sharing = of.heads / of.kv_heads, kv_head = head / sharing;
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const unsigned position = load_written(of.position);
  const unsigned each = (position + of.splits) / of.splits;
  const unsigned begin = split * each, behind = begin + each;
  const unsigned end = behind < position ? behind : position;  // of what is kept
  const std::size_t place = std::size_t{kv_head} * of.positions * kWidth;
  float query[kPerLane];
  load_rotated(of, of.qkv + std::size_t{head} * kWidth, position, lane, query);
  const float scale = rsqrtf(static_cast<float>(kWidth));
  HeadSums<kPerLane> sums;
  const auto take = [&](const std::uint32_t(&keys)[kPerLane / 2],
                        const std::uint32_t(&values)[kPerLane / 2]) {
    float score = 0, value[kPerLane];
#pragma unroll
    for (unsigned i = 0; i < kPerLane / 2; ++i) {
      score = fmaf(query[2 * i], low_bf16(keys[i]), fmaf(query[2 * i + 1], high_bf16(keys[i]), score));
      value[2 * i] = low_bf16(values[i]);
      value[2 * i + 1] = high_bf16(values[i]);
    }
    sums.add(warp_sum(score) * scale, 1, value);
  };
  for (unsigned from = begin + warp; from < end; from += kAtOnce * kWarps) {
    std::uint32_t keys[kAtOnce][kPerLane / 2] = {}, values[kAtOnce][kPerLane / 2] = {};
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const unsigned at = from + i * kWarps;
      if (at >= end) continue;
      load_kept<kPerLane>(of.keys + place + std::size_t{at} * kWidth, lane, keys[i]);
      load_kept<kPerLane>(of.values + place + std::size_t{at} * kWidth, lane, values[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i) {
      if (from + i * kWarps < end) take(keys[i], values[i]);
    }
  }
  // The token's own, which the blocks of several heads have: one of them keeps it.
  if (begin <= position && position < behind && warp == 0) {
    const float* const own = of.qkv + std::size_t{of.heads} * kWidth;
    float key[kPerLane];
    load_rotated(of, own + std::size_t{kv_head} * kWidth, position, lane, key);
    std::uint32_t keys[kPerLane / 2], values[kPerLane / 2];
    const float* const value = own + (std::size_t{of.kv_heads} + kv_head) * kWidth + lane * kPerLane;
#pragma unroll
    for (unsigned i = 0; i < kPerLane / 2; ++i) {
      keys[i] = bf16_pair(key[2 * i], key[2 * i + 1]);
      values[i] = bf16_pair(load_written(value + 2 * i), load_written(value + 2 * i + 1));
    }
    if (head % sharing == 0) {
      const std::size_t at = place + std::size_t{position} * kWidth + lane * kPerLane;
#pragma unroll
      for (unsigned i = 0; i < kPerLane / 2; ++i) {
        reinterpret_cast<std::uint32_t*>(of.keys + at)[i] = keys[i];
        reinterpret_cast<std::uint32_t*>(of.values + at)[i] = values[i];
      }
    }
    take(keys, values);
  }
  finish_head(of, sums);
}

/// One block; a warp for each expert, in turns.
inline __global__ void __launch_bounds__(kTokenThreads) route_kernel(RouteProblem of) {
  constexpr unsigned kMostExperts = 64, kWarps = kTokenThreads / kWarp;
  __shared__ float scores[kMostExperts], sums[kMostWarps];
  let_next_launch_start();
  wait_for_launch_before();
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  float squares = 0;
  for (unsigned i = threadIdx.x; i < of.columns; i += blockDim.x) {
    const float value = load_written(of.x.x + i);
    squares = fmaf(value, value, squares);
  }
  const float factor =
      reciprocal_root(block_sum(squares, sums) / static_cast<float>(of.columns) + of.x.epsilon);
  for (unsigned expert = warp; expert < of.experts; expert += kWarps) {
    const std::uint16_t* const row = of.gate + std::size_t{expert} * of.columns;
    float score = 0;
    for (unsigned i = lane; i < of.columns; i += kWarp) {
      const float x = bf16_value(bf16_bits(load_written(of.x.x + i) * bf16_value(of.x.weight[i])));
      score = fmaf(bf16_value(row[i]), x, score);
    }
    score = warp_sum(score);
    if (lane == 0) scores[expert] = score * factor;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const unsigned position = load_written(of.position);
  std::uint32_t* const routing = of.routing + (std::size_t{position} * of.layers + of.layer) * of.count;
  float most = 0, total = 0;
  for (unsigned i = 0; i < of.count; ++i) {
    unsigned best = 0;
    for (unsigned expert = 1; expert < of.experts; ++expert) {
      if (scores[expert] > scores[best]) best = expert;
    }
    if (i == 0) most = scores[best];
    const float share = expf(scores[best] - most);
    scores[best] = -INFINITY;
    total += share;
    of.chosen[i] = static_cast<std::int32_t>(best);
    of.shares[i] = share;
    routing[i] = best;
  }
  for (unsigned i = 0; i < of.count; ++i) of.shares[i] /= total;
}

}  // namespace headroom::cuda
