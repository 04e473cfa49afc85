// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "headroom/workload/llm_workload.h"

namespace headroom::native {
namespace {

struct DecoderShape {
  const char* name;
  const char* dtype;
  std::size_t dim, heads, kv_heads, hidden, vocab, experts;
};

LlmConfig config_of(const DecoderShape& shape) {
  LlmConfig config;
  config.model = shape.name;
  config.dtype = shape.dtype;
  config.layers = 3;
  config.dim = shape.dim;
  config.heads = shape.heads;
  config.kv_heads = shape.kv_heads;
  config.hidden = shape.hidden;
  config.vocab = shape.vocab;
  config.experts = shape.experts;
  config.chosen = shape.experts > 1 ? 2 : 1;
  return config;
}

constexpr DecoderShape kShapes[] = {
    {"dense_bf16", "bf16", 64, 4, 4, 172, 321, 1},       {"grouped_bf16", "bf16", 60, 6, 2, 101, 97, 1},
    {"odd_bf16", "bf16", 66, 3, 1, 77, 51, 1},           {"dense_int8", "int8", 64, 4, 2, 172, 321, 1},
    {"odd_int8", "int8", 66, 3, 3, 77, 51, 1},           {"experts_bf16", "bf16", 64, 4, 2, 90, 100, 5},
    {"experts_int8", "int8", 48, 4, 2, 130, 100, 8},     {"dense_int4", "int4", 64, 4, 2, 160, 321, 1},
    {"dense_int8_g32", "int8_g32", 96, 6, 2, 96, 97, 1}, {"experts_int4", "int4", 64, 4, 2, 96, 100, 5},
    {"dense_q4_k", "q4_k", 256, 8, 2, 256, 321, 1},      {"dense_q5_k", "q5_k", 256, 8, 2, 256, 97, 1},
    {"dense_q6_k", "q6_k", 256, 8, 2, 256, 97, 1}};

class LlmDecoderTest : public ::testing::TestWithParam<std::tuple<Isa, int, DecoderShape>> {
 protected:
  LlmDecoder decoder(std::size_t positions) {
    return {weights_, pool_, isa_, positions, TopKSampler(20, 0.8F, 1, isa_)};
  }
  /// Errors as a share of the root mean square of all logits.
  void expect_right(std::span<const float> logits, std::span<const std::int32_t> tokens,
                    const LlmRouting& routing) {
    const ExactLogits exact = exact_logits(fresh_threads(1), weights_, tokens, routing);
    EXPECT_LE(exact.routing_gap, 0.05);
    double squares = 0, worst = 0;
    for (const double value : exact.logits) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(exact.logits.size()));
    ASSERT_EQ(logits.size(), exact.logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i)
      worst = std::max(worst, std::fabs(logits[i] - exact.logits[i]) / rms);
    EXPECT_LT(worst, 0.04);
    EXPECT_GT(worst, 1e-7) << "rounding to bf16 must show";
  }

  const Isa isa_ = std::get<0>(GetParam());
  ThreadPool pool_{std::get<1>(GetParam())};
  const LlmConfig config_ = config_of(std::get<2>(GetParam()));
  const LlmWeights weights_{config_, 21, fresh_threads(1)};
};

TEST_P(LlmDecoderTest, LogitsAgreeWithFloat64) {
  const std::vector<std::int32_t> tokens{1, 40, 7, 7, 22};
  const std::span<const std::int32_t> all(tokens);
  LlmDecoder model = decoder(5);
  model.forward(all.first(3));
  model.forward(all.subspan(3, 1));
  expect_right(model.forward(all.last(1)), all, model.routing());
}

TEST_P(LlmDecoderTest, APromptAtOnceIsThePromptTokenByToken) {
  std::vector<std::int32_t> tokens = llm_prompt(19, config_.vocab);  // more than go through a layer together
  LlmDecoder at_once = decoder(19), one_by_one = decoder(19);
  const std::span<const float> expected = at_once.forward(tokens);
  std::span<const float> found;
  for (const std::int32_t& token : tokens) found = one_by_one.forward(std::span(&token, 1));
  double squares = 0;
  for (const float value : expected) squares += double{value} * value;
  const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.04 * rms) << i;
}

TEST_P(LlmDecoderTest, SequencesSideBySideAreThoseByThemselves) {
  const std::size_t sequences = 5, each = 2;
  std::vector<std::int32_t> tokens = llm_prompt(sequences * each, config_.vocab);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>((tokens[i] + 3 * i) % config_.vocab);
  LlmDecoder together(weights_, pool_, isa_, 3, TopKSampler(20, 0.8F, 1, isa_), sequences);
  together.forward(tokens);
  std::vector<std::int32_t> next(sequences);
  for (std::size_t i = 0; i < sequences; ++i) next[i] = tokens[i];
  const std::span<const float> found = together.forward(next);
  ASSERT_EQ(found.size(), sequences * config_.vocab);
  for (const std::size_t sequence : {std::size_t{0}, sequences - 1}) {
    const std::vector<std::int32_t> alone{tokens[sequence * each], tokens[sequence * each + 1],
                                          next[sequence]};
    LlmDecoder single = decoder(3);
    single.forward(std::span(alone).first(2));
    single.forward(std::span(alone).last(1));
    expect_right(found.subspan(sequence * config_.vocab, config_.vocab), alone, single.routing());
  }
}

TEST_P(LlmDecoderTest, LogitsOfAllTokensAreThoseOfEachInTurn) {
  const std::vector<std::int32_t> tokens = llm_prompt(6, config_.vocab);
  LlmDecoder at_once = decoder(6), one_by_one = decoder(6);
  const std::span<const float> all = at_once.forward(tokens, LlmLogits::kAll);
  ASSERT_EQ(all.size(), 6 * config_.vocab);
  for (std::size_t token = 0; token < 6; ++token) {
    const std::span<const float> one = one_by_one.forward(std::span(tokens).subspan(token, 1));
    // A score between two experts may fall either way, and from there on the tokens are others.
    const LlmRouting &here = one_by_one.routing(), &there = at_once.routing();
    if (!std::equal(here.begin(), here.end(), there.begin())) {
      EXPECT_GT(token, 0U);
      break;
    }
    double squares = 0;
    for (const float value : one) squares += double{value} * value;
    const double rms = std::sqrt(squares / static_cast<double>(one.size()));
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_NEAR(all[token * config_.vocab + i], one[i], 0.04 * rms) << token << " " << i;
  }
}

std::string name_of_decoding(const ::testing::TestParamInfo<LlmDecoderTest::ParamType>& suite) {
  const auto& [isa, threads, shape] = suite.param;
  return std::string(name_of(isa)) + "_" + std::to_string(threads) + "_" + shape.name;
}

INSTANTIATE_TEST_SUITE_P(Isas, LlmDecoderTest,
                         ::testing::Combine(::testing::ValuesIn(available_isas()), ::testing::Values(1),
                                            ::testing::ValuesIn(kShapes)),
                         name_of_decoding);
// Meetings of threads take long where other tests have the CPUs.
INSTANTIATE_TEST_SUITE_P(Threads, LlmDecoderTest,
                         ::testing::Combine(::testing::Values(available_isas().back()), ::testing::Values(3),
                                            ::testing::Values(kShapes[2], kShapes[6])),
                         name_of_decoding);

/// Logits within 4 % of the root mean square of the exact ones.
void expect_logits(std::span<const float> found, const std::vector<double>& right, Isa isa) {
  double squares = 0;
  for (const double value : right) squares += value * value / static_cast<double>(right.size());
  for (std::size_t i = 0; i < right.size(); ++i)
    EXPECT_NEAR(found[i], right[i], 0.04 * std::sqrt(squares)) << name_of(isa) << " " << i;
}

/// As llama.cpp's mixtures of types have it: values of 6 bits, and the output too.
TEST(LlmDecoder, MatricesOfSeveralFormatsAgreeWithFloat64) {
  ThreadPool pool(2);
  LlmConfig config = config_of({"mixed", "q4_k", 256, 8, 2, 512, 97, 1});
  config.output_dtype = "q6_k";
  LlmLayerFormats mixed = config.formats_of(0);
  mixed.value = mixed.down = LlmFormat::kInt6Super;
  config.formats = {mixed, config.formats_of(0), mixed};
  const LlmWeights weights(config, 4, fresh_threads(1));
  for (const Isa isa : available_isas()) {
    LlmDecoder model(weights, pool, isa, 9, TopKSampler(20, 0.8F, 1, isa));
    std::vector<std::int32_t> tokens = llm_prompt(9, config.vocab);
    model.forward(std::span(tokens).first(7));
    model.forward(std::span(tokens).subspan(7, 1));
    const std::span<const float> found = model.forward(std::span(tokens).last(1));
    const std::vector<double> right = exact_logits(fresh_threads(1), weights, tokens).logits;
    expect_logits(found, right, isa);
  }
}

/// As Qwen's: an expert for all tokens, and shares of all experts.
TEST(LlmDecoder, ExpertsBesideOneForAllTokensAgreeWithFloat64) {
  ThreadPool pool(2);
  LlmConfig config = config_of({"shared", "bf16", 64, 4, 2, 48, 97, 6});
  config.shared_hidden = 80;
  config.has_shares_of_all = true;
  for (const char* dtype : {"bf16", "int8"}) {
    config.dtype = dtype;
    const LlmWeights weights(config, 4, fresh_threads(1));
    for (const Isa isa : available_isas()) {
      LlmDecoder model(weights, pool, isa, 9, TopKSampler(20, 0.8F, 1, isa));
      const std::vector<std::int32_t> tokens = llm_prompt(9, config.vocab);
      model.forward(std::span(tokens).first(8));
      const std::span<const float> found = model.forward(std::span(tokens).last(1));
      const std::vector<double> right =
          exact_logits(fresh_threads(1), weights, tokens, model.routing()).logits;
      expect_logits(found, right, isa);
    }
  }
}

TEST(LlmDecoder, StartsAfreshAfterRewind) {
  ThreadPool pool(2);
  const LlmConfig config = config_of(kShapes[0]);
  const LlmWeights weights(config, 4, fresh_threads(1));
  const Isa isa = available_isas().back();
  LlmDecoder model(weights, pool, isa, 8, TopKSampler(20, 0.8F, 1, isa));
  const std::vector<std::int32_t> tokens{4, 5, 6};
  const std::span<const float> first = model.forward(tokens);
  const std::vector<float> kept(first.begin(), first.end());
  model.rewind();
  EXPECT_THAT(model.forward(tokens), testing::ElementsAreArray(kept));
}

TEST(LlmDecoder, RefusesMoreTokensThanItHasRoomFor) {
  ThreadPool pool(1);
  const LlmConfig config = config_of(kShapes[0]);
  const LlmWeights weights(config, 4, fresh_threads(1));
  const Isa isa = available_isas().back();
  LlmDecoder model(weights, pool, isa, 3, TopKSampler(20, 0.8F, 1, isa));
  EXPECT_THROW(model.forward(std::vector<std::int32_t>{}), std::length_error);
  EXPECT_THROW(model.forward(std::vector<std::int32_t>(4, 1)), std::length_error);
  model.forward(std::vector<std::int32_t>(3, 1));
  EXPECT_THROW(model.forward(std::vector<std::int32_t>(1, 1)), std::length_error);
  model.rewind();
  EXPECT_NO_THROW(model.forward(std::vector<std::int32_t>(3, 1)));
}

TEST(LlmGeneration, StartsAnewWhenItsTokensAreMade) {
  ThreadPool pool(2);
  const LlmConfig config = config_of(kShapes[5]);
  const LlmWorkload workload{LlmWeights(config, 4, fresh_threads(1)), 0, llm_prompt(6, config.vocab), 4};
  const Isa isa = available_isas().back();
  LlmDecoder model(workload.weights, pool, isa, workload.positions(), TopKSampler(20, 0.8F, 1, isa));
  LlmGeneration generation(model, workload);
  for (int i = 0; i < 11; ++i) EXPECT_NO_THROW(generation.step()) << "positions beyond the cache would throw";
  // The third generation: its prompt and two tokens behind it.
  EXPECT_EQ(model.routing().size(), 8 * config.layers * config.chosen);
}

}  // namespace
}  // namespace headroom::native
