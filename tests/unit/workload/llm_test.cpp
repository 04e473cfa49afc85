// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "headroom/workload/llm_model.h"
#include "headroom/workload/llm_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom/workload/stored_model.h"
#include "headroom/workload/team.h"

namespace headroom {
namespace {

using namespace testing;

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

LlmConfig small_weights(const std::string& dtype, std::size_t experts = 1) {
  LlmConfig config;
  config.model = "small";
  config.dtype = dtype;
  config.layers = 2;
  config.dim = 48;
  config.heads = 6;
  config.kv_heads = 2;
  config.hidden = 100;
  config.vocab = 301;
  config.experts = experts;
  config.chosen = experts > 1 ? 2 : 1;
  return config;
}

LlmConfig small(std::size_t experts) {
  LlmConfig config = small_weights("bf16", experts);
  config.dim = 16;
  config.heads = 4;
  config.hidden = 24;
  config.vocab = 50;
  return config;
}

TEST(ExactLogits, EarlierTokensMatter) {
  const LlmWeights weights(small(1), 5, fresh_threads(1));
  const std::vector<std::int32_t> tokens{3, 4, 5}, others{8, 4, 5};
  const auto logits = [&](std::span<const std::int32_t> all) {
    return exact_logits(fresh_threads(2), weights, all).logits;
  };
  EXPECT_NE(logits(tokens), logits(others));
  EXPECT_THAT(logits(std::span(tokens).last(2)), Not(Pointwise(DoubleNear(1e-6), logits(tokens))));
}

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

struct Rounded {
  std::vector<std::vector<Bf16>> keys, values;  ///< by layer and head, [positions, head_dim]

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
  LlmKvCache kept(const LlmConfig& config) const {
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
  const LlmKvCache none{[](std::size_t, std::size_t) { return nullptr; },
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

TEST(LlmConfig, CountsWhatGptFastCounts) {
  // 32 layers of 4096 x 12288, 4096^2 and 3 x 4096 x 11008; output 32000 x 4096; 65 norms of 4096.
  constexpr double kLlama = 32 * (4096.0 * 12288 + 4096.0 * 4096 + 3 * 4096.0 * 11008) + 32000 * 4096.0;
  EXPECT_EQ(llm_activated(llama2_7b("bf16")).parameters, kLlama);
  EXPECT_EQ(llm_activated(llama2_7b("bf16")).bytes, 2 * (kLlama + 65 * 4096));
  // A byte a weight, a bf16 scale a row.
  constexpr double kRows = 32 * (12288.0 + 4096 + 2 * 11008 + 4096) + 32000;
  EXPECT_EQ(llm_activated(llama2_7b("int8")).bytes, kLlama + 2 * (kRows + 65 * 4096));
  // Two of eight experts, gate of bf16; target on the A100: 175 tokens/s at 1130 GB/s.
  EXPECT_NEAR(llm_activated(mixtral_8x7b("int8")).bytes, 1130e9 / 175, 0.02e9);
}

TEST(LlmConfig, RefusesShapesThatDoNotFit) {
  LlmConfig config = small_weights("bf16");
  EXPECT_NO_THROW(require_valid(config));
  config.heads = 5;
  EXPECT_THROW(require_valid(config), std::invalid_argument);
  config = small_weights("bf16");
  config.kv_heads = 4;
  EXPECT_THROW(require_valid(config), std::invalid_argument);
  config = small_weights("bf16");
  config.heads = config.kv_heads = 16;  // of 3
  EXPECT_THROW(require_valid(config), std::invalid_argument);
  config = small_weights("fp4");
  EXPECT_THROW(require_valid(config), std::invalid_argument);
  config = small_weights("bf16", 2);
  config.chosen = 3;
  EXPECT_THROW(require_valid(config), std::invalid_argument);
}

TEST(LlmWeights, DependOnTheSeedAndNotOnTheThreads) {
  for (const char* dtype : {"bf16", "int8"}) {
    const LlmConfig config = small_weights(dtype, 3);
    const LlmWeights one(config, 7, fresh_threads(1)), three(config, 7, fresh_threads(3)),
        other(config, 8, fresh_threads(1));
    const auto same = [](const LlmMatrix& a, const LlmMatrix& b) {
      return std::memcmp(a.weights, b.weights, a.rows * a.row_bytes()) == 0;
    };
    for (std::size_t layer = 0; layer < 2; ++layer) {
      EXPECT_TRUE(same(one.layer(layer).qkv, three.layer(layer).qkv));
      EXPECT_TRUE(same(one.layer(layer).w2[2], three.layer(layer).w2[2]));
      EXPECT_TRUE(same(one.layer(layer).gate, three.layer(layer).gate));
      EXPECT_FALSE(same(one.layer(layer).w1[0], one.layer(layer).w1[1]));
      EXPECT_FALSE(same(one.layer(layer).qkv, other.layer(layer).qkv));
    }
    EXPECT_FALSE(same(one.layer(0).out, one.layer(1).out));
    EXPECT_TRUE(same(one.output(), three.output()));
  }
}

TEST(LlmWeights, HaveTheVarianceThatKeepsActivationsNearOne) {
  for (const char* dtype : {"bf16", "int8"}) {
    LlmConfig config = small_weights(dtype);
    config.dim = 480;
    const LlmWeights weights(config, 3, fresh_threads(2));
    const LlmMatrix& matrix = weights.layer(0).qkv;
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < matrix.rows * matrix.columns; ++i) {
      const std::size_t row = i / matrix.columns;
      const double value = matrix.scales == nullptr
                               ? double{to_float(reinterpret_cast<const Bf16*>(matrix.weights)[i])}
                               : reinterpret_cast<const std::int8_t*>(matrix.weights)[i] *
                                     double{to_float(matrix.scales[row])};
      sum += value;
      squares += value * value;
    }
    const auto count = static_cast<double>(matrix.rows * matrix.columns);
    EXPECT_NEAR(sum / count * std::sqrt(480), 0, 0.02) << dtype;
    EXPECT_NEAR(squares / count * 480, 1, 0.03) << dtype;
  }
}

TEST(LlmWeights, TheMemoryThatIsSaidIsWhatTheyTake) {
  const LlmConfig config = small_weights("int8", 3);
  const std::size_t activated = static_cast<std::size_t>(llm_activated(config).bytes);
  EXPECT_GT(llm_bytes(config), activated);
  LlmConfig many = config;
  many.layers = std::size_t{1} << 62;
  EXPECT_GT(llm_bytes(many), std::size_t{1} << 62) << "must not wrap";
}

TEST(LlmPrompt, RepeatsAndFitsTheVocabulary) {
  EXPECT_THAT(llm_prompt(6, 32000), ElementsAre(1, 15043, 29892, 590, 1024, 338));
  EXPECT_THAT(llm_prompt(8, 100), ElementsAre(1, 43, 92, 90, 24, 38, 1, 43));
}

TEST(LlmWeights, OfBlocksHaveMeanZeroAndTheVarianceOfTheOthers) {
  const std::map<std::string, StoredType> types{{"int4", StoredType::kQ4Block},
                                                {"int8_g32", StoredType::kQ8Block},
                                                {"q4_k", StoredType::kQ4Super},
                                                {"q5_k", StoredType::kQ5Super},
                                                {"q6_k", StoredType::kQ6Super}};
  for (const auto& [dtype, type] : types) {
    LlmConfig config = small_weights(dtype);
    config.dim = 256;
    config.heads = config.kv_heads = 4;
    config.hidden = 512;
    const LlmWeights weights(config, 7, fresh_threads(2));
    const LlmMatrix& matrix = weights.layer(0).w2.front();
    std::vector<float> values(matrix.rows * matrix.columns);
    dequantise(type, matrix.weights, values);
    double sum = 0, squares = 0;
    for (const float value : values) {
      sum += value;
      squares += double{value} * value;
    }
    const auto count = static_cast<double>(values.size());
    const double deviation = 1 / std::sqrt(512.0);
    EXPECT_NEAR(sum / count, 0, 5 * deviation / std::sqrt(count)) << dtype;
    EXPECT_NEAR(squares / count * 512, 1, 0.03) << dtype;
  }
}

TEST(LlmTolerance, FollowsFromTheRoundings) {
  LlmConfig config = small_weights("bf16");
  // 5 standard deviations of 2^-9 / sqrt(3): 3 roundings for 2 x 2 + 1 additions.
  EXPECT_NEAR(llm_tolerance(config, false).relative, 5 * 0.001953125 / 1.7320508 * 3.8729833, 1e-6);
  EXPECT_NEAR(llm_tolerance(config, true).relative, 5 * 0.001953125 / 1.7320508 * 5, 1e-6);
}

TEST(LlmBytes, OfBlocksAreThoseOfGgml) {
  const LlmConfig llama = llama2_7b("int4");
  // 18 bytes for 32 numbers, and 65 norms of bf16.
  const double parameters = llm_activated(llama2_7b("bf16")).parameters;
  EXPECT_EQ(llm_activated(llama).bytes, parameters / 32 * 18 + 65 * 4096 * 2);
  EXPECT_EQ(llm_activated(llama2_7b("int8_g32")).bytes, parameters / 32 * 34 + 65 * 4096 * 2);
  EXPECT_EQ(llm_activated(llama2_7b("q6_k")).bytes, parameters / 256 * 210 + 65 * 4096 * 2);
  EXPECT_EQ(llm_activated(llama2_7b("q5_k")).bytes, parameters / 256 * 176 + 65 * 4096 * 2);
  EXPECT_EQ(llm_activated(llama2_7b("q4_k")).bytes, parameters / 256 * 144 + 65 * 4096 * 2);
  EXPECT_THROW(require_valid(small_weights("q4_k")), std::invalid_argument);
  LlmConfig odd = small_weights("int4");  // rows of 48
  EXPECT_THROW(require_valid(odd), std::invalid_argument);
}

std::vector<Bf16> bf16s(std::initializer_list<float> values) {
  std::vector<Bf16> converted;
  for (const float value : values) converted.push_back(to_bf16(value));
  return converted;
}

TEST(Oracle, GemvOfBothDtypesByHand) {
  const std::vector<double> x{1, -2, 0.5}, bias{10, 20};
  const std::vector<Bf16> bf16 = bf16s({1, 2, 4, -1, 0, 8});
  const std::vector<std::int8_t> int8{1, 2, 4, -1, 0, 8};
  const std::vector<double> expected{1 - 4 + 2, -1 + 4};
  const Team team = fresh_threads(2);
  EXPECT_EQ(exact_gemv(team, "bf16", reinterpret_cast<const std::byte*>(bf16.data()), 2, x), expected);
  EXPECT_EQ(exact_gemv(team, "int8", reinterpret_cast<const std::byte*>(int8.data()), 2, x), expected);
  EXPECT_EQ(exact_gemv(team, "int8", reinterpret_cast<const std::byte*>(int8.data()), 2, x, bias),
            (std::vector<double>{9, 23}));
}

TEST(Oracle, LayerNormByHand) {
  const double scale = 1 / std::sqrt(1 + double{kNormEpsilon});  // of {1, 3}: mean 2, variance 1
  const std::vector<double> gamma{2, 3}, beta{0.5, 0};
  const std::vector<double> row = exact_layer_norm(std::vector<double>{1, 3}, gamma, beta);
  EXPECT_DOUBLE_EQ(row[0], -2 * scale + 0.5);
  EXPECT_DOUBLE_EQ(row[1], 3 * scale);
  const std::vector<double> rows = exact_layer_norm(fresh_threads(3), bf16s({1, 3, 3, 1}), gamma, beta);
  EXPECT_DOUBLE_EQ(rows[1], 3 * scale);
  EXPECT_DOUBLE_EQ(rows[3], -3 * scale);
}

TEST(Slice, CoversEveryUnitOnceAndInOrder) {
  for (const std::size_t count : {0, 1, 2, 3, 7, 64, 1000, 1025}) {
    for (const int workers : {1, 2, 3, 5, 64}) {
      std::size_t next = 0;
      for (int worker = 0; worker < workers; ++worker) {
        const Slice slice = slice_of(count, worker, workers);
        EXPECT_EQ(slice.begin, next) << count << " units, worker " << worker << " of " << workers;
        EXPECT_LE(slice.size(), count / static_cast<std::size_t>(workers) + 1);
        EXPECT_GE(slice.size(), count / static_cast<std::size_t>(workers));
        next = slice.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Slice, DoesNotWrapAtHugeCounts) {
  const std::size_t count = std::numeric_limits<std::size_t>::max() - 1;
  EXPECT_EQ(slice_of(count, 63, 64).end, count);
  EXPECT_EQ(slice_of(count, 0, 64).begin, 0U);
}

TEST(Team, CallsEachWorkerOnce) {
  for (const int workers : {1, 2, 5}) {
    std::atomic<int> sum{0};
    fresh_threads(workers)([&](int worker, int of) {
      EXPECT_EQ(of, workers);
      sum += 1 << worker;
    });
    EXPECT_EQ(sum, (1 << workers) - 1);
  }
}

}  // namespace
}  // namespace headroom
