// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headroom {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

TEST(ExactRotation, TurnsEachPairByItsAngle) {
  std::vector<double> head{1, 0, 0, 2};
  exact_rotation(head, 3, 100);  // angles 3 and 3 / 100^(1/2)
  EXPECT_THAT(head, ElementsAre(DoubleNear(std::cos(3), 1e-15), DoubleNear(std::sin(3), 1e-15),
                                DoubleNear(-2 * std::sin(0.3), 1e-15), DoubleNear(2 * std::cos(0.3), 1e-15)));
}

TEST(ExactRotation, ProductsOfQueriesAndKeysDependOnTheDistanceAlone) {
  const auto product = [](std::size_t a, std::size_t b) {
    std::vector<double> query{0.3, -1, 2, 0.5}, key{1, 0.2, -0.7, 1.1};
    exact_rotation(query, a, 10000);
    exact_rotation(key, b, 10000);
    double sum = 0;
    for (std::size_t i = 0; i < query.size(); ++i) sum += query[i] * key[i];
    return sum;
  };
  EXPECT_NEAR(product(7, 3), product(104, 100), 1e-12);
  EXPECT_GT(std::fabs(product(7, 3) - product(7, 4)), 1e-3);
}

TEST(ExactAttention, IsAWeightedMeanOfValues) {
  const std::vector<double> query{2, 0}, keys{1, 5, 0, -3}, values{10, 1, 20, 3};
  // Scores 2 / sqrt(2) and 0.
  const double share = std::exp(std::sqrt(2)) / (std::exp(std::sqrt(2)) + 1);
  EXPECT_THAT(exact_attention(query, keys, values),
              ElementsAre(DoubleNear(10 * share + 20 * (1 - share), 1e-12),
                          DoubleNear(share + 3 * (1 - share), 1e-12)));
}

LlmConfig small(std::size_t experts) {
  LlmConfig config;
  config.model = "small";
  config.dtype = "bf16";
  config.layers = 2;
  config.dim = 16;
  config.heads = 4;
  config.kv_heads = 2;
  config.hidden = 24;
  config.vocab = 50;
  config.experts = experts;
  config.chosen = experts > 1 ? 2 : 1;
  return config;
}

TEST(ExactLogits, EarlierTokensMatter) {
  const LlmWeights weights(small(1), 5, fresh_threads(1));
  const std::vector<std::int32_t> tokens{3, 4, 5}, others{8, 4, 5};
  const auto logits = [&](std::span<const std::int32_t> all) {
    return exact_logits(fresh_threads(2), weights, all).logits;
  };
  EXPECT_NE(logits(tokens), logits(others));
  EXPECT_THAT(logits(std::span(tokens).last(2)), testing::Not(Pointwise(DoubleNear(1e-6), logits(tokens))));
}

/// With all experts alike it does not matter which are taken, and the result is that of a plain layer.
TEST(ExactLogits, SharesOfExpertsAddUpToOne) {
  const LlmWeights weights(small(3), 5, fresh_threads(1));
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const LlmLayer& one = weights.layer(layer);
    for (const auto* matrices : {&one.w1, &one.w2, &one.w3}) {
      for (std::size_t expert = 1; expert < 3; ++expert) {
        const LlmMatrix& first = matrices->front();
        std::copy_n(first.weights, first.rows * first.row_bytes(), (*matrices)[expert].weights);
      }
    }
  }
  const std::vector<std::int32_t> tokens{3, 4};
  const ExactLogits own = exact_logits(fresh_threads(1), weights, tokens);
  const ExactLogits forced = exact_logits(fresh_threads(1), weights, tokens, {0, 1, 1, 2, 2, 0, 0, 1});
  // Shares differ with the scores, their sum does not.
  EXPECT_THAT(forced.logits, Pointwise(DoubleNear(1e-9), own.logits));
  EXPECT_EQ(own.routing_gap, 0);
}

TEST(ExactLogits, SaysHowWrongARoutingIs) {
  const LlmWeights weights(small(4), 6, fresh_threads(1));
  const std::vector<std::int32_t> tokens{3};
  double largest = 0;
  std::size_t right = 0;
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = a + 1; b < 4; ++b) {
      const double gap = exact_logits(fresh_threads(1), weights, tokens, {a, b, 0, 1}).routing_gap;
      largest = std::max(largest, gap);
      right += gap == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(largest, 0.3) << "scores have a standard deviation of 1";
  EXPECT_LE(right, 1U) << "at most one pair is right in the first layer";
}

/// Keys and values that were rounded to bf16, as an implementation has them.
struct Rounded {
  std::vector<std::vector<Bf16>> keys, values;  ///< of each layer and head, [positions, head_dim]

  Rounded(const LlmConfig& config, const ExactToken& token) {
    const auto round = [&](const std::vector<double>& from, std::vector<std::vector<Bf16>>& to) {
      for (std::size_t i = 0; i < from.size(); i += config.head_dim()) {
        std::vector<Bf16>& head = to.emplace_back();
        for (std::size_t k = 0; k < config.head_dim(); ++k)
          head.push_back(to_bf16(static_cast<float>(from[i + k])));
      }
    };
    round(token.keys, keys);
    round(token.values, values);
  }
  LlmKept kept(const LlmConfig& config) const {
    return {[this, &config](std::size_t layer, std::size_t head) {
              return keys[layer * config.kv_heads + head].data();
            },
            [this, &config](std::size_t layer, std::size_t head) {
              return values[layer * config.kv_heads + head].data();
            }};
  }
};

TEST(ExactToken, BehindWhatIsKeptIsTheTokenOfTheWholeSequence) {
  const LlmConfig config = small(1);
  const Team team = fresh_threads(1);
  const LlmWeights weights(config, 5, team);
  const LlmKept none{[](std::size_t, std::size_t) { return nullptr; },
                     [](std::size_t, std::size_t) { return nullptr; }};
  const ExactToken first = exact_token(team, weights, none, 0, 7);
  const std::vector<std::int32_t> tokens{7, 30};
  EXPECT_EQ(first.logits, exact_logits(team, weights, std::span(tokens).first(1)).logits);
  EXPECT_EQ(first.keys.size(), 2 * config.kv_dim());
  Rounded rounded(config, first);
  const auto distance = [&] {
    const ExactToken second = exact_token(team, weights, rounded.kept(config), 1, 30);
    const std::vector<double> right = exact_logits(team, weights, tokens).logits;
    double most = 0;
    for (std::size_t i = 0; i < right.size(); ++i)
      most = std::max(most, std::fabs(second.logits[i] - right[i]));
    return most;
  };
  EXPECT_LT(distance(), 0.03);
  rounded.values[3][1] = to_bf16(9);
  EXPECT_GT(distance(), 0.1) << "what is kept must matter";
}

}  // namespace
}  // namespace headroom
