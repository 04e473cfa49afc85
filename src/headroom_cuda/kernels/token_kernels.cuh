// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/device_ops.cuh"
#include "headroom_cuda/kernels/kernel_plan.h"

/// Steps of a decoder other than its matrices.

namespace headroom::cuda {

constexpr unsigned kTokenThreads = 256;      ///< per block, unless stated otherwise
constexpr unsigned kAttentionThreads = 512;  ///< hides the latency of the first positions

/// One block.
inline __global__ void __launch_bounds__(kTokenThreads)
    embed_kernel(TokenSequence sequence, const std::uint16_t* embedding, float* x, unsigned columns) {
  __shared__ std::uint32_t position;
  trigger_next_launch();
  wait_for_previous_launch();
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

/// Loads this lane's consecutive elements of a head's vector.
template <int kPerLane>
__device__ inline void load_floats(const float* from, unsigned lane, float (&values)[kPerLane]) {
  constexpr unsigned kAtOnce = kPerLane < 4 ? kPerLane : 4;
#pragma unroll
  for (unsigned at = 0; at < kPerLane; at += kAtOnce) {
    std::uint32_t words[kAtOnce];
    load_written_words(from + lane * kPerLane + at, words);
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i) values[at + i] = __uint_as_float(words[i]);
  }
}

/// Rotates pairs of adjacent elements (RoPE).
template <int kPerLane>
__device__ inline void rotate(const std::uint32_t (&cosines)[kPerLane / 2],
                              const std::uint32_t (&sines)[kPerLane / 2], float (&values)[kPerLane]) {
#pragma unroll
  for (unsigned i = 0; i < kPerLane / 2; ++i) {
    const float first = values[2 * i], second = values[2 * i + 1];
    const float cosine = __uint_as_float(cosines[i]), sine = __uint_as_float(sines[i]);
    values[2 * i] = first * cosine - second * sine;
    values[2 * i + 1] = second * cosine + first * sine;
  }
}

/// Attention over some positions: largest score, sum of exp(score - most), and that sum weighted with one
/// element of the values.
struct HeadPart {
  float most = -INFINITY, sum = 0, value = 0;
};

/// `count` parts. `read(part, i)` returns element i of the values, then most (i = kWidth) and sum (kWidth +
/// 1).
template <unsigned kWidth, typename Read>
__device__ inline HeadPart merged_parts(unsigned count, unsigned element, const Read& read) {
  HeadPart all;
#pragma unroll
  for (unsigned part = 0; part < count; ++part) all.most = fmaxf(all.most, read(part, kWidth));
  const float most = all.most == -INFINITY ? 0.0F : all.most;
#pragma unroll
  for (unsigned part = 0; part < count; ++part) {
    const float factor = expf(read(part, kWidth) - most);
    all.sum = fmaf(read(part, kWidth + 1), factor, all.sum);
    all.value = fmaf(read(part, element), factor, all.value);
  }
  return all;
}

/// Merges the warps of a block, one thread per element; a head's last block to arrive merges its blocks and
/// writes y.
template <int kPerLane>
__device__ inline void finish_head(const AttentionProblem& of, float most, float sum,
                                   const float (&values)[kPerLane]) {
  constexpr unsigned kWarps = kAttentionThreads / kWarp, kWidth = kPerLane * kWarp;
  static_assert(kWidth <= kAttentionThreads);
  __shared__ float of_warps[kWarps][kWidth + 2];
  __shared__ bool last;
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const unsigned head = blockIdx.x / of.splits, split = blockIdx.x % of.splits;
  // Avoids bank conflicts.
#pragma unroll
  for (unsigned i = 0; i < kPerLane; ++i) of_warps[warp][i * kWarp + lane] = values[i];
  if (lane == 0) {
    of_warps[warp][kWidth] = most;
    of_warps[warp][kWidth + 1] = sum;
  }
  __syncthreads();
  const unsigned element = threadIdx.x;
  const bool has_element = element < kWidth;
  std::uint16_t* const y = of.y + std::size_t{head} * kWidth + element % kWarp * kPerLane + element / kWarp;
  HeadPart block;
  if (has_element) {
    block =
        merged_parts<kWidth>(kWarps, element, [&](unsigned part, unsigned i) { return of_warps[part][i]; });
  }
  if (of.splits == 1) {
    if (has_element) *y = bf16_bits(block.value / block.sum);
    return;
  }
  float* const parts = of.parts + std::size_t{head} * of.splits * (kWidth + 2);
  if (has_element) {
    float* const own = parts + split * (kWidth + 2);
    own[element] = block.value;
    if (element == 0) {
      own[kWidth] = block.most;
      own[kWidth + 1] = block.sum;
    }
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(of.finished + head, 1U) == of.splits - 1;
    if (last) of.finished[head] = 0;
  }
  __syncthreads();
  if (!last || !has_element) return;
  __threadfence();
  const HeadPart all = merged_parts<kWidth>(of.splits, element, [&](unsigned part, unsigned i) {
    return load_written(parts + part * (kWidth + 2) + i);
  });
  *y = bf16_bits(all.value / all.sum);
}

/// softmax(q K^T / sqrt(head_dim)) V of a token; rotates, rounds and stores its key and value. A head has
/// kPerLane * 32 values and `splits` blocks, whose warps take kAtOnce positions in turn. With few registers,
/// a block loads the cache while a streaming block still occupies the multiprocessor.
template <int kPerLane>
__global__ void __maxnreg__(kPerLane < 8 ? 72 : 128) attention_kernel(AttentionProblem of) {
  constexpr unsigned kWidth = kPerLane * kWarp, kPairs = kPerLane / 2, kAtOnce = 8;
  constexpr unsigned kOfEach = kWarp / kAtOnce;  // lanes that share the score of one position
  trigger_next_launch();
  const unsigned head = blockIdx.x / of.splits, split = blockIdx.x % of.splits;
  const unsigned sharing = of.heads / of.kv_heads, kv_head = head / sharing;
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const unsigned apart = of.splits * (kAttentionThreads / kWarp);
  const unsigned first = split * (kAttentionThreads / kWarp) + warp;
  const std::size_t place = std::size_t{kv_head} * of.positions * kWidth + lane * kPerLane;
  std::uint32_t keys[kAtOnce][kPairs] = {}, values[kAtOnce][kPairs] = {};
  const auto load_kept = [&](unsigned from, unsigned end) {
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const unsigned at = from + i * apart;
      if (at >= end) continue;
      load_written_words(of.keys + place + std::size_t{at} * kWidth, keys[i]);
      load_written_words(of.values + place + std::size_t{at} * kWidth, values[i]);
    }
  };
  // Written by earlier passes: no wait. Loads past the position, unknown here, are ignored later.
  load_kept(first, of.positions);
  std::uint32_t cosines[kPairs], sines[kPairs];
  const auto load_turn = [&](unsigned at) {
    load_written_words(of.cosines + (std::size_t{at} * kWarp + lane) * kPairs, cosines);
    load_written_words(of.sines + (std::size_t{at} * kWarp + lane) * kPairs, sines);
  };
  // Visible early except in the first layers: hides the rotation's loads.
  const unsigned read_early = load_written(of.position);
  const unsigned guess = read_early < of.positions ? read_early : 0;
  load_turn(guess);
  wait_for_previous_launch();
  const unsigned position = load_written(of.position);
  const float* const of_kv_head = of.qkv + (std::size_t{of.heads} + kv_head) * kWidth;
  float query[kPerLane], key[kPerLane], value[kPerLane];
  load_floats(of.qkv + std::size_t{head} * kWidth, lane, query);
  load_floats(of_kv_head, lane, key);
  load_floats(of_kv_head + std::size_t{of.kv_heads} * kWidth, lane, value);
  if (position != guess) load_turn(position);
  rotate<kPerLane>(cosines, sines, query);
  rotate<kPerLane>(cosines, sines, key);
  std::uint32_t own_keys[kPairs], own_values[kPairs];
#pragma unroll
  for (unsigned j = 0; j < kPairs; ++j) {
    own_keys[j] = bf16_pair(key[2 * j], key[2 * j + 1]);
    own_values[j] = bf16_pair(value[2 * j], value[2 * j + 1]);
  }
  // Heads that share keys and values compute them; one warp stores.
  if (head % sharing == 0 && position % apart == first) {
    const std::size_t at = place + std::size_t{position} * kWidth;
#pragma unroll
    for (unsigned j = 0; j < kPairs; ++j) {
      reinterpret_cast<std::uint32_t*>(of.keys + at)[j] = own_keys[j];
      reinterpret_cast<std::uint32_t*>(of.values + at)[j] = own_values[j];
    }
  }
  const float scale = rsqrtf(static_cast<float>(kWidth));
  // `sum` covers the positions whose scores this lane has.
  float most = -INFINITY, sum = 0, sums[kPerLane] = {};
  for (unsigned from = first; from <= position; from += kAtOnce * apart) {
    if (from != first) load_kept(from, position);
    float scores[kAtOnce];
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const unsigned at = from + i * apart;
#pragma unroll
      for (unsigned j = 0; j < kPairs; ++j) {
        if (at == position) keys[i][j] = own_keys[j];
        if (at == position) values[i][j] = own_values[j];
      }
      scores[i] = 0;
#pragma unroll
      for (unsigned j = 0; j < kPairs; ++j) {
        scores[i] = fmaf(query[2 * j], low_bf16(keys[i][j]), scores[i]);
        scores[i] = fmaf(query[2 * j + 1], high_bf16(keys[i][j]), scores[i]);
      }
    }
    const float product = warp_sums(scores, lane) * scale;
    const float score = from + lane / kOfEach * apart <= position ? product : -INFINITY;
    float larger = fmaxf(most, score);
#pragma unroll
    for (unsigned with = kOfEach; with < kWarp; with *= 2) {
      larger = fmaxf(larger, __shfl_xor_sync(kAllLanes, larger, static_cast<int>(with)));
    }
    const float kept = expf(most - larger), weight = expf(score - larger);
    most = larger;
    sum = fmaf(sum, kept, weight);
#pragma unroll
    for (unsigned j = 0; j < kPerLane; ++j) sums[j] *= kept;
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const float times =
          __uint_as_float(__shfl_sync(kAllLanes, __float_as_uint(weight), static_cast<int>(i * kOfEach)));
      const bool counts = from + i * apart <= position;
#pragma unroll
      for (unsigned j = 0; j < kPairs; ++j) {
        const std::uint32_t pair = counts ? values[i][j] : 0;
        sums[2 * j] = fmaf(low_bf16(pair), times, sums[2 * j]);
        sums[2 * j + 1] = fmaf(high_bf16(pair), times, sums[2 * j + 1]);
      }
    }
  }
#pragma unroll
  for (unsigned with = kOfEach; with < kWarp; with *= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, static_cast<int>(with));
  }
  finish_head(of, most, sum, sums);
}

inline __global__ void __launch_bounds__(kTokenThreads) route_kernel(RouteProblem of) {
  constexpr unsigned kWarps = kTokenThreads / kWarp;
  __shared__ float scores[kMaxExperts], sums[kMostWarps];
  trigger_next_launch();
  wait_for_previous_launch();
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

constexpr unsigned kSampleThreads = 1024;
constexpr unsigned kKeptLogits = 32;  ///< of a thread, in registers

/// Orders like the logits; 0 for NaN, never drawn.
__device__ inline std::uint32_t key_of(float logit) {
  if (logit != logit) return 0;
  const std::uint32_t bits = __float_as_uint(logit);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ inline float logit_of(std::uint32_t key) {
  return __uint_as_float((key & 0x80000000U) != 0 ? key & 0x7fffffffU : ~key);
}

/// Finaliser of MurmurHash3 (Appleby), constants of Stafford's variant 13.
__device__ inline std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31U);
}

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

/// One block. Finds the k-th largest key bit by bit, then the largest logit / temperature plus Gumbel noise,
/// a sample of the softmax (Gumbel, 1954).
inline __global__ void __launch_bounds__(kSampleThreads) sample_kernel(SampleProblem of) {
  __shared__ float counts[2][kMostWarps];
  __shared__ float values[kMostWarps];
  __shared__ std::uint32_t tokens[kMostWarps];
  trigger_next_launch();
  wait_for_previous_launch();
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
    // Sums of floats below 2^24 are exact.
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
