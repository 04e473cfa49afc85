// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/top_k_sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace headroom::native {

TopKSampler::TopKSampler(std::size_t top_k, float temperature, std::uint64_t seed, Isa isa)
    : top_k_(top_k), temperature_(temperature), random_(seed), kernels_(token_kernels(isa)) {}

void TopKSampler::keep_largest() {
  if (kept_.size() <= top_k_) return;
  const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(top_k_ - 1);
  std::ranges::nth_element(kept_, last, std::ranges::greater(), &Candidate::logit);
  threshold_ = last->logit;
  std::erase_if(kept_, [this](const Candidate& one) { return one.logit < threshold_; });
}

std::span<const TopKSampler::Candidate> TopKSampler::candidates(std::span<const float> logits) {
  kept_.clear();
  threshold_ = -std::numeric_limits<float>::infinity();
  // Most logits fall under the threshold that the first ones set, and cost one comparison in a vector.
  std::size_t room = 4 * top_k_;
  for (std::size_t at = 0;; ++at) {
    at = kernels_.find_at_least(logits.data(), at, logits.size(), threshold_);
    if (at == logits.size()) break;
    kept_.push_back({logits[at], static_cast<std::uint32_t>(at)});
    if (kept_.size() < room) continue;
    keep_largest();
    room = 2 * kept_.size() + 2 * top_k_;  // ties may keep more than k
  }
  keep_largest();
  return kept_;
}

std::int32_t TopKSampler::draw(std::span<const float> logits) {
  if (candidates(logits).empty()) return 0;
  const Candidate most = *std::ranges::max_element(kept_, {}, &Candidate::logit);
  if (std::isinf(most.logit)) return static_cast<std::int32_t>(most.token);
  float sum = 0;
  for (Candidate& one : kept_) sum += one.logit = std::exp((one.logit - most.logit) / temperature_);
  float left = std::uniform_real_distribution<float>(0, sum)(random_);
  for (const Candidate& one : kept_) {
    left -= one.logit;
    if (left < 0) return static_cast<std::int32_t>(one.token);
  }
  return static_cast<std::int32_t>(most.token);  // what rounding left over
}

std::int32_t greedy_token(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace headroom::native
