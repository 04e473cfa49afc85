// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/top_k_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "headroom/experiment/random.h"

namespace headroom::native {
namespace {

constexpr float kInfiniteLogit = std::numeric_limits<float>::infinity();
constexpr float kNanLogit = std::numeric_limits<float>::quiet_NaN();

std::vector<std::uint32_t> candidates(TopKSampler& sampler, std::span<const float> logits) {
  std::vector<std::uint32_t> tokens;
  for (const TopKSampler::Candidate& one : sampler.candidates(logits)) tokens.push_back(one.token);
  std::ranges::sort(tokens);
  return tokens;
}

/// Those at least as large as the k-th largest, by sorting all.
std::vector<std::uint32_t> sorted_candidates(std::span<const float> logits, std::size_t k) {
  std::vector<float> sorted(logits.begin(), logits.end());
  std::ranges::sort(sorted, std::greater<>());
  const float least = sorted[std::min(k, sorted.size()) - 1];
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t token = 0; token < logits.size(); ++token) {
    if (logits[token] >= least) tokens.push_back(token);
  }
  return tokens;
}

TEST(TopKSampler, CandidatesAreTheKLargest) {
  for (const Isa isa : available_isas()) {
    for (const std::size_t count : {1U, 5U, 199U, 200U, 201U, 1000U, 32000U}) {
      std::vector<float> logits(count);
      fill_random(std::span(logits), 11);
      for (const std::size_t k : {1U, 3U, 200U}) {
        TopKSampler sampler(k, 1, 1, isa);
        EXPECT_EQ(candidates(sampler, logits), sorted_candidates(logits, k))
            << name_of(isa) << count << " " << k;
      }
      std::ranges::sort(logits);  // each is larger than all before: the hardest order
      TopKSampler sampler(200, 1, 1, isa);
      EXPECT_EQ(candidates(sampler, logits), sorted_candidates(logits, 200));
    }
  }
}

TEST(TopKSampler, TiesStayIn) {
  std::vector<float> logits(5000, 1.5F);
  logits[7] = 3;
  logits[9] = 1;
  TopKSampler sampler(10, 1, 1, available_isas().back());
  EXPECT_EQ(candidates(sampler, logits).size(), 4999U);
}

TEST(TopKSampler, DrawsWithTheProbabilitiesOfTheSoftmax) {
  constexpr int kDraws = 200'000;
  constexpr float kTemperature = 0.8F;
  std::vector<float> logits{0.5F, -1, 2, 1.5F, 0, 1.9F, -3};
  TopKSampler sampler(4, kTemperature, 42, available_isas().back());
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.draw(logits)];
  double sum = 0;
  const std::vector<std::int32_t> allowed{2, 5, 3, 0};
  for (const std::int32_t token : allowed)
    sum += std::exp(logits[static_cast<std::size_t>(token)] / kTemperature);
  EXPECT_EQ(counts.size(), allowed.size());
  double chi_squared = 0;
  for (const std::int32_t token : allowed) {
    const double expected = kDraws * std::exp(logits[static_cast<std::size_t>(token)] / kTemperature) / sum;
    chi_squared += (counts[token] - expected) * (counts[token] - expected) / expected;
  }
  EXPECT_LT(chi_squared, 16.3) << "the 99.9 % quantile for 3 degrees of freedom";
}

TEST(TopKSampler, TheSameSeedDrawsTheSame) {
  std::vector<float> logits(1000);
  fill_random(std::span(logits), 11);
  const auto drawn = [&](std::uint64_t seed) {
    TopKSampler sampler(200, 0.8F, seed, available_isas().back());
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 50; ++i) tokens.push_back(sampler.draw(logits));
    return tokens;
  };
  EXPECT_EQ(drawn(3), drawn(3));
  EXPECT_NE(drawn(3), drawn(4));
}

TEST(TopKSampler, WhatIsNotANumber) {
  TopKSampler sampler(2, 0.8F, 1, available_isas().back());
  EXPECT_EQ(sampler.draw(std::vector<float>(40, kNanLogit)), 0);
  std::vector<float> logits(40, kNanLogit);
  logits[33] = -5;
  EXPECT_EQ(sampler.draw(logits), 33);
  logits[3] = kInfiniteLogit;
  EXPECT_EQ(sampler.draw(logits), 3);
  std::vector<float> nothing(40, -kInfiniteLogit);
  nothing[21] = 0;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(sampler.draw(nothing), 21);
}

TEST(GreedyToken, IsTheFirstOfTheLargest) {
  EXPECT_EQ(greedy_token(std::vector<float>{1, 4, 2, 4}), 1);
}

}  // namespace
}  // namespace headroom::native
