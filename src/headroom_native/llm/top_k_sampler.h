// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "headroom_native/llm/token_kernels.h"

namespace headroom::native {

/// Draws tokens by their logits: softmax(logits / temperature) over those that are at least as large as the
/// k-th largest, so that ties stay in, as gpt-fast's benchmark does.
class TopKSampler {
 public:
  /// `top_k` >= 1, `temperature` > 0.
  TopKSampler(std::size_t top_k, float temperature, std::uint64_t seed, Isa isa);

  /// NaNs are never drawn; 0 where there is nothing else. An infinite logit is drawn for certain.
  std::int32_t draw(std::span<const float> logits);

  struct Candidate {
    float logit;
    std::uint32_t token;
  };
  /// Those that `draw` chooses from, in no particular order.
  std::span<const Candidate> candidates(std::span<const float> logits);

 private:
  void keep_largest();

  std::size_t top_k_;
  float temperature_;
  std::mt19937_64 random_;
  TokenKernels kernels_;
  std::vector<Candidate> kept_;
  float threshold_ = 0;  ///< what is less is not among the k largest
};

/// The token of the largest logit, the first of equal ones.
std::int32_t greedy_token(std::span<const float> logits);

}  // namespace headroom::native
