// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/isa.h"

namespace headroom::native {

/// A head of a token and the positions (>= 1) that it sees; vectors have [width] values.
struct AttentionQuery {
  const float* query;
  std::size_t positions;
  Bf16* y;
};

/// Read by several heads while they are in the caches.
constexpr std::size_t kAttentionBlock = 256;
/// Floats of scratch of `attend`: scores of a block, or of all positions for a single head.
constexpr std::size_t attention_scratch(std::size_t queries, std::size_t width, std::size_t positions) {
  return queries * (width + 2) + (queries == 1 ? positions : queries * kAttentionBlock);
}

/// Operations between the matrices of a decoder, in f32.
struct TokenKernels {
  /// y = x / sqrt(mean(x^2) + epsilon) * weight. Source: Zhang, Sennrich, "Root mean square layer
  /// normalization", 2019.
  void (*rms_norm)(const float* x, const Bf16* weight, std::size_t count, float epsilon, Bf16* y) = nullptr;
  /// Rotates the pairs (x[0], x[1]), (x[2], x[3]), ... by the given angles.
  void (*rotate)(float* x, const float* cosines, const float* sines, std::size_t pairs) = nullptr;
  /// y = gate / (1 + exp(-gate)) * up. Source: Shazeer, "GLU variants improve transformer", 2020.
  void (*swiglu)(const float* gate, const float* up, std::size_t count, Bf16* y) = nullptr;
  void (*round)(const float* from, std::size_t count, Bf16* to) = nullptr;
  /// y = softmax(keys query / sqrt(width)) values, over the positions that each query sees. All heads share
  /// keys and values [positions, width]. `scratch`: attention_scratch() floats.
  void (*attend)(std::span<const AttentionQuery> queries, const Bf16* keys, const Bf16* values,
                 std::size_t width, float* scratch) = nullptr;
  /// First index >= from with x[index] >= threshold (false for NaN), or `count`.
  std::size_t (*find_at_least)(const float* x, std::size_t from, std::size_t count,
                               float threshold) = nullptr;
};

TokenKernels token_kernels(Isa isa);

}  // namespace headroom::native
