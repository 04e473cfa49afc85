// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

#include "headroom/workload/llm_workload.h"
#include "headroom/workload/stored_tensor.h"

namespace headroom {
namespace {

using testing::ElementsAre;

LlmConfig small_weights(const std::string& dtype, std::size_t experts = 1) {
  LlmConfig config;
  config.model = "small_weights";
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

TEST(LlmConfig, CountsWhatGptFastCounts) {
  // 32 layers of 4096 x 12288, 4096^2 and 3 x 4096 x 11008; the output of 32000 x 4096; 65 norms of 4096.
  constexpr double kLlama = 32 * (4096.0 * 12288 + 4096.0 * 4096 + 3 * 4096.0 * 11008) + 32000 * 4096.0;
  EXPECT_EQ(llm_activated(llama2_7b("bf16")).parameters, kLlama);
  EXPECT_EQ(llm_activated(llama2_7b("bf16")).bytes, 2 * (kLlama + 65 * 4096));
  // One byte for each weight, a bf16 scale for each row.
  constexpr double kRows = 32 * (12288.0 + 4096 + 2 * 11008 + 4096) + 32000;
  EXPECT_EQ(llm_activated(llama2_7b("int8")).bytes, kLlama + 2 * (kRows + 65 * 4096));
  // Two of eight experts, the gate of bf16: 175 tokens/s at 1130 GB/s are the targets of the A100.
  EXPECT_NEAR(llm_activated(mixtral_8x7b("int8")).bytes, 1130e9 / 175, 0.02e9);
}

TEST(LlmConfig, RefusesShapesThatDoNotFit) {
  LlmConfig config = small_weights("bf16");
  EXPECT_NO_THROW(require_sound(config));
  config.heads = 5;
  EXPECT_THROW(require_sound(config), std::invalid_argument);
  config = small_weights("bf16");
  config.kv_heads = 4;
  EXPECT_THROW(require_sound(config), std::invalid_argument);
  config = small_weights("bf16");
  config.heads = config.kv_heads = 16;  // of 3
  EXPECT_THROW(require_sound(config), std::invalid_argument);
  config = small_weights("fp4");
  EXPECT_THROW(require_sound(config), std::invalid_argument);
  config = small_weights("bf16", 2);
  config.chosen = 3;
  EXPECT_THROW(require_sound(config), std::invalid_argument);
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
  // 5 standard deviations of 2^-9 / sqrt(3), of 3 roundings for each of 2 x 2 + 1 additions.
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
  EXPECT_THROW(require_sound(small_weights("q4_k")), std::invalid_argument);
  LlmConfig odd = small_weights("int4");  // rows of 48
  EXPECT_THROW(require_sound(odd), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
