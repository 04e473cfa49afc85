// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"
// Kernels need CUDA's words, which are above.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "exact_memory.h"
#include "headroom_cuda/kernels/sample_kernel.cuh"

namespace headroom::cuda {
namespace {

/// Draws many times; how often each token came.
std::map<std::int32_t, int> drawn(const std::vector<float>& logits, std::uint32_t top_k, float temperature,
                                  int times, unsigned threads = 64) {
  const ExactMemory memory(logits), tokens(std::vector<std::int32_t>(2)),
      counters(std::vector<std::uint32_t>(3));
  auto* const counter = counters.as<std::uint32_t>();
  SampleProblem problem;
  problem.logits = memory.as<float>();
  problem.vocab = static_cast<std::uint32_t>(logits.size());
  problem.sequence = {tokens.as<std::int32_t>(), counter, counter + 1, counter + 2, 2};
  problem.top_k = top_k;
  problem.temperature = temperature;
  problem.seed = 42;
  std::map<std::int32_t, int> found;
  for (int i = 0; i < times; ++i) {
    emulated::launch_early(
        1, threads, emulated::Order::kForward, [] {}, [&] { sample_kernel(problem); });
    ++found[tokens.as<std::int32_t>()[0]];
  }
  EXPECT_EQ(counter[2], static_cast<std::uint32_t>(times));
  return found;
}

TEST(SampleKernel, DrawsTheLikeliestAsOftenAsTheirShares) {
  std::vector<float> logits(100, -1);
  logits[7] = 2;
  logits[50] = 1;
  logits[99] = 0;
  const std::map<std::int32_t, int> found = drawn(logits, 3, 0.8F, 200);
  ASSERT_EQ(found.size(), 3U);
  const double shares[] = {std::exp(2 / 0.8), std::exp(1 / 0.8), 1};
  const double sum = std::accumulate(std::begin(shares), std::end(shares), 0.0);
  // Five standard deviations.
  const auto expect_share = [&](std::int32_t token, double share) {
    EXPECT_NEAR(found.at(token), 200 * share, 5 * std::sqrt(200 * share * (1 - share))) << token;
  };
  expect_share(7, shares[0] / sum);
  expect_share(50, shares[1] / sum);
  expect_share(99, shares[2] / sum);
}

TEST(SampleKernel, TakesTheLargestOfAnyVocabulary) {
  for (const std::size_t vocab : {1, 31, 2048, 2049, 3001}) {
    std::vector<float> logits(vocab);
    for (std::size_t i = 0; i < vocab; ++i) logits[i] = -1.0F - static_cast<float>((i * 7919) % vocab);
    logits[vocab * 2 / 3] = -0.5F;
    EXPECT_EQ(drawn(logits, 1, 0.8F, 1).begin()->first, static_cast<std::int32_t>(vocab * 2 / 3)) << vocab;
  }
}

TEST(SampleKernel, NeverDrawsANanAndAlwaysAnInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(drawn({nan, -3, nan}, 3, 1, 5).size(), 1U);
  EXPECT_EQ(drawn({nan, -3, nan}, 3, 1, 5).begin()->first, 1);
  EXPECT_EQ(drawn({1, infinite, 2}, 3, 1, 5), (std::map<std::int32_t, int>{{1, 5}}));
}

TEST(SampleKernel, TiesStayIn) {
  EXPECT_EQ(drawn(std::vector<float>(8, 0.25F), 1, 1, 80).size(), 8U);
}

}  // namespace
}  // namespace headroom::cuda
