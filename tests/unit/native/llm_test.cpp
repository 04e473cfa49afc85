// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "headroom/experiment/random.h"
#include "headroom/workload/llm_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_native/llm/decoder.h"
#include "headroom_native/llm/token_kernels.h"
#include "native_case.h"

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

LlmDecoder decoder_of(const LlmWeights& weights, ThreadPool& pool, Isa isa, std::size_t positions,
                      std::size_t sequences = 1) {
  return {weights, pool, isa, positions, TopKSampler(20, 0.8F, 1, isa), sequences};
}

/// Equal up to rounding to bf16, relative to the root mean square.
void expect_logits(std::span<const float> found, const auto& right, const std::string& what) {
  double squares = 0;
  for (const double value : right) squares += value * value / static_cast<double>(right.size());
  for (std::size_t i = 0; i < right.size(); ++i)
    EXPECT_NEAR(found[i], right[i], 0.04 * std::sqrt(squares)) << what << " " << i;
}

class LlmDecoderTest : public ::testing::TestWithParam<std::tuple<Isa, int, DecoderShape>> {
 protected:
  LlmDecoder decoder(std::size_t positions) { return decoder_of(weights_, pool_, isa_, positions); }
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
  std::vector<std::int32_t> tokens = llm_prompt(19, config_.vocab);
  LlmDecoder at_once = decoder(19), one_by_one = decoder(19);
  const std::span<const float> expected = at_once.forward(tokens);
  std::span<const float> found;
  for (const std::int32_t& token : tokens) found = one_by_one.forward(std::span(&token, 1));
  expect_logits(found, expected, "token by token");
}

TEST_P(LlmDecoderTest, SequencesSideBySideAreThoseByThemselves) {
  const std::size_t sequences = 5, each = 2;
  std::vector<std::int32_t> tokens = llm_prompt(sequences * each, config_.vocab);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>((tokens[i] + 3 * i) % config_.vocab);
  LlmDecoder together = decoder_of(weights_, pool_, isa_, 3, sequences);
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
    // Near-equal scores may differ in experts.
    const LlmRouting &here = one_by_one.routing(), &there = at_once.routing();
    if (!std::equal(here.begin(), here.end(), there.begin())) {
      EXPECT_GT(token, 0U);
      break;
    }
    expect_logits(all.subspan(token * config_.vocab, config_.vocab), one, std::to_string(token));
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
// Thread barriers are slow on busy CPUs.
INSTANTIATE_TEST_SUITE_P(Threads, LlmDecoderTest,
                         ::testing::Combine(::testing::Values(available_isas().back()), ::testing::Values(3),
                                            ::testing::Values(kShapes[2], kShapes[6])),
                         name_of_decoding);

TEST(LlmDecoder, MatricesOfSeveralFormatsAgreeWithFloat64) {
  ThreadPool pool(2);
  LlmConfig config = config_of({"mixed", "q4_k", 256, 8, 2, 512, 97, 1});
  config.output_dtype = "q6_k";
  LlmLayerFormats mixed = config.formats_of(0);
  mixed.value = mixed.down = LlmFormat::kInt6Super;
  config.formats = {mixed, config.formats_of(0), mixed};
  const LlmWeights weights(config, 4, fresh_threads(1));
  for (const Isa isa : available_isas()) {
    LlmDecoder model = decoder_of(weights, pool, isa, 9);
    std::vector<std::int32_t> tokens = llm_prompt(9, config.vocab);
    model.forward(std::span(tokens).first(7));
    model.forward(std::span(tokens).subspan(7, 1));
    const std::span<const float> found = model.forward(std::span(tokens).last(1));
    const std::vector<double> right = exact_logits(fresh_threads(1), weights, tokens).logits;
    expect_logits(found, right, name_of(isa));
  }
}

TEST(LlmDecoder, ExpertsBesideOneForAllTokensAgreeWithFloat64) {
  ThreadPool pool(2);
  LlmConfig config = config_of({"shared", "bf16", 64, 4, 2, 48, 97, 6});
  config.shared_hidden = 80;
  config.has_shares_of_all = true;
  for (const char* dtype : {"bf16", "int8"}) {
    config.dtype = dtype;
    const LlmWeights weights(config, 4, fresh_threads(1));
    for (const Isa isa : available_isas()) {
      LlmDecoder model = decoder_of(weights, pool, isa, 9);
      const std::vector<std::int32_t> tokens = llm_prompt(9, config.vocab);
      model.forward(std::span(tokens).first(8));
      const std::span<const float> found = model.forward(std::span(tokens).last(1));
      const std::vector<double> right =
          exact_logits(fresh_threads(1), weights, tokens, model.routing()).logits;
      expect_logits(found, right, name_of(isa));
    }
  }
}

TEST(LlmDecoder, StartsAfreshAfterRewind) {
  ThreadPool pool(2);
  const LlmConfig config = config_of(kShapes[0]);
  const LlmWeights weights(config, 4, fresh_threads(1));
  LlmDecoder model = decoder_of(weights, pool, available_isas().back(), 8);
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
  LlmDecoder model = decoder_of(weights, pool, available_isas().back(), 3);
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
  LlmDecoder model = decoder_of(workload.weights, pool, available_isas().back(), workload.positions());
  LlmGeneration generation(model, workload);
  for (int i = 0; i < 11; ++i) EXPECT_NO_THROW(generation.step()) << "positions beyond the cache would throw";
  // The third generation: a prompt and two tokens.
  EXPECT_EQ(model.routing().size(), 8 * config.layers * config.chosen);
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Half a unit of bf16, and the error of f32 sums.
constexpr double kRounding = 1.1 * 0x1p-8;

std::vector<float> floats(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  fill_random(std::span(values), seed);
  return values;
}
std::vector<Bf16> halves(std::size_t count, std::uint64_t seed) {
  std::vector<Bf16> values(count);
  fill_random(std::span(values), seed);
  return values;
}

class TokenKernelsTest : public ::testing::TestWithParam<Isa> {
 protected:
  void attend(const std::vector<AttentionQuery>& queries, const std::vector<Bf16>& keys,
              const std::vector<Bf16>& values, std::size_t width) {
    std::size_t most = 0;
    for (const AttentionQuery& query : queries) most = std::max(most, query.positions);
    std::vector<float> scratch(attention_scratch(queries.size(), width, most) + 1, 77);
    kernels_.attend(queries, keys.data(), values.data(), width, scratch.data());
    EXPECT_EQ(scratch.back(), 77) << "nothing is written behind the end";
  }

  const TokenKernels kernels_ = token_kernels(GetParam());
};

TEST_P(TokenKernelsTest, RmsNorm) {
  for (const std::size_t count : {1U, 7U, 16U, 33U, 100U, 4096U}) {
    const std::vector<float> x = floats(count, 1);
    const std::vector<Bf16> weight = halves(count, 2);
    std::vector<Bf16> y(count + 1, to_bf16(77));
    kernels_.rms_norm(x.data(), weight.data(), count, 1e-5F, y.data());
    double squares = 0;
    for (const float value : x) squares += double{value} * value;
    for (std::size_t i = 0; i < count; ++i) {
      const double expected =
          x[i] / std::sqrt(squares / static_cast<double>(count) + 1e-5) * to_float(weight[i]);
      EXPECT_NEAR(to_float(y[i]), expected, kRounding * std::fabs(expected) + 1e-30) << count << " " << i;
    }
    EXPECT_EQ(to_float(y[count]), 77) << "nothing is written behind the end";
  }
}

TEST_P(TokenKernelsTest, RmsNormOfNaNAndInfinity) {
  std::vector<float> x = floats(40, 1);
  const std::vector<Bf16> weight = halves(40, 2);
  std::vector<Bf16> y(40);
  x[5] = kNaN;
  kernels_.rms_norm(x.data(), weight.data(), 40, 1e-5F, y.data());
  for (const Bf16 value : y) EXPECT_TRUE(std::isnan(to_float(value)));
  x[5] = kInfinity;  // scale 0: infinity becomes NaN, the others 0
  kernels_.rms_norm(x.data(), weight.data(), 40, 1e-5F, y.data());
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(i == 5 ? std::isnan(to_float(y[i])) : to_float(y[i]) == 0) << i;
  }
}

TEST_P(TokenKernelsTest, Rotary) {
  LlmConfig config = llama2_7b("bf16");
  for (const std::size_t width : {2U, 6U, 32U, 34U, 128U}) {
    config.dim = width;
    config.heads = config.kv_heads = 1;
    config.rope_factors.assign(width / 2, 1.25F);
    config.rope_magnitude = 1.5F;
    const RotaryTable table(config, 20);
    ASSERT_EQ(table.pairs, width / 2);
    for (const std::size_t position : {0U, 1U, 19U}) {
      std::vector<float> x = floats(width, 3);
      std::vector<double> expected = to_doubles(x);
      exact_rotation(expected, position, config.rope_base, config.rope_factors, config.rope_magnitude);
      kernels_.rotate(x.data(), table.cosines.data() + position * table.pairs,
                      table.sines.data() + position * table.pairs, table.pairs);
      for (std::size_t i = 0; i < width; ++i)
        EXPECT_NEAR(x[i], expected[i], 1e-6) << width << " " << position;
    }
  }
}

TEST_P(TokenKernelsTest, SwiGlu) {
  for (const std::size_t count : {1U, 15U, 64U, 101U}) {
    std::vector<float> gate = floats(count, 4);
    for (float& value : gate) value *= 5;
    const std::vector<float> up = floats(count, 5);
    std::vector<Bf16> y(count);
    kernels_.swiglu(gate.data(), up.data(), count, y.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double expected = gate[i] / (1 + std::exp(-double{gate[i]})) * up[i];
      EXPECT_NEAR(to_float(y[i]), expected, kRounding * std::fabs(expected) + 1e-7) << count << " " << i;
    }
  }
}

TEST_P(TokenKernelsTest, SwiGluAtTheEnds) {
  for (const std::size_t count : {1U, 64U}) {  // a vector's tail, and a whole vector
    const std::vector<float> up(count, 2);
    std::vector<Bf16> y(count);
    const auto of = [&](float gate) {
      const std::vector<float> gates(count, gate);
      kernels_.swiglu(gates.data(), up.data(), count, y.data());
      return to_float(y[0]);
    };
    EXPECT_EQ(of(200), 400);
    EXPECT_NEAR(of(-200), 0, 1e-30);
    EXPECT_EQ(of(0), 0);
    EXPECT_TRUE(std::isnan(of(kNaN)));
    EXPECT_EQ(of(kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(of(-kInfinity))) << "infinity over infinity, as the formula has it";
  }
}

TEST_P(TokenKernelsTest, Round) {
  std::vector<float> from = floats(71, 6);
  from[0] = kNaN;
  from[1] = -kInfinity;
  from[2] = std::bit_cast<float>(0x7f800001U);  // a NaN whose upper half is an infinity
  from[3] = std::bit_cast<float>(0x3f808000U);  // a tie: to even
  std::vector<Bf16> to(71);
  kernels_.round(from.data(), from.size(), to.data());
  for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(to[i].bits, to_bf16(from[i]).bits) << i;
}

TEST_P(TokenKernelsTest, AttentionAgreesWithFloat64) {
  for (const std::size_t width : {1U, 8U, 20U, 64U, 128U, 130U}) {
    for (const std::size_t positions : {1U, 2U, 37U, 200U}) {
      std::vector<float> query = floats(width, 7);
      for (float& value : query) value *= 3;  // different shares
      const std::vector<Bf16> keys = halves(width * positions, 8), values = halves(width * positions, 9);
      std::vector<Bf16> y(width);
      attend({{query.data(), positions, y.data()}}, keys, values, width);
      const std::vector<double> expected =
          exact_attention(to_doubles(query), to_doubles(keys), to_doubles(values));
      for (std::size_t i = 0; i < width; ++i) {
        EXPECT_NEAR(to_float(y[i]), expected[i], kRounding * std::fabs(expected[i]) + 2e-6)
            << width << " " << positions << " " << i;
      }
    }
  }
}

TEST_P(TokenKernelsTest, HeadsThatAttendTogetherAreThoseByThemselves) {
  for (const std::size_t width : {8U, 20U, 64U, 128U, 130U}) {
    for (const std::size_t count : {2U, 3U, 4U, 7U, 13U}) {
      for (const std::size_t step : {0U, 1U, 40U}) {
        const std::size_t least = 254, longest = least + count * step;
        std::vector<float> queries = floats(width * count, 7);
        for (float& value : queries) value *= 3;
        const std::vector<Bf16> keys = halves(width * longest, 8), values = halves(width * longest, 9);
        std::vector<Bf16> y(width * count), alone(width);
        std::vector<AttentionQuery> together;
        for (std::size_t q = 0; q < count; ++q)
          together.push_back({&queries[q * width], least + (count - q) * step, &y[q * width]});
        attend(together, keys, values, width);
        for (std::size_t q = 0; q < count; ++q) {
          const std::span<const Bf16> seen(keys.data(), width * together[q].positions);
          const std::vector<double> expected =
              exact_attention(to_doubles(std::span(together[q].query, width)), to_doubles(seen),
                              to_doubles(std::span(values.data(), seen.size())));
          for (std::size_t i = 0; i < width; ++i) {
            EXPECT_NEAR(to_float(y[q * width + i]), expected[i], kRounding * std::fabs(expected[i]) + 2e-6)
                << width << " " << count << " " << step << " " << q << " " << i;
          }
        }
      }
    }
  }
}

TEST_P(TokenKernelsTest, WhatAHeadDoesNotSeeChangesNothing) {
  const std::vector<float> query = floats(16, 7);
  std::vector<Bf16> keys = halves(16 * 300, 8), values = halves(16 * 300, 9), y(16 * 8), alone(16);
  attend({{query.data(), 260, alone.data()}}, keys, values, 16);
  for (std::size_t i = 260 * 16; i < keys.size(); ++i) keys[i] = values[i] = to_bf16(kNaN);
  std::vector<AttentionQuery> together;
  for (std::size_t q = 0; q < 8; ++q) together.push_back({query.data(), q < 7 ? 260U : 300U, &y[q * 16]});
  attend(together, keys, values, 16);
  for (std::size_t i = 0; i < 7 * 16; ++i) {
    const float expected = to_float(alone[i % 16]);
    EXPECT_NEAR(to_float(y[i]), expected, 2 * kRounding * std::fabs(expected)) << i;
  }
  for (std::size_t i = 7 * 16; i < y.size(); ++i) EXPECT_TRUE(std::isnan(to_float(y[i]))) << i;
}

/// Scores far apart, so that only the newer or only the older part counts.
TEST_P(TokenKernelsTest, AttentionToOnePositionOfMany) {
  for (const std::size_t at : {0U, 255U, 256U, 399U}) {
    const std::vector<float> query(16, 30);
    std::vector<Bf16> keys(16 * 400, to_bf16(-30)), values = halves(16 * 400, 9), y(32);
    for (std::size_t i = 0; i < 16; ++i) keys[at * 16 + i] = to_bf16(30);
    attend({{query.data(), 400, y.data()}, {query.data(), 400, &y[16]}}, keys, values, 16);
    for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(to_float(y[i]), to_float(values[at * 16 + i % 16])) << at;
  }
}

TEST_P(TokenKernelsTest, AttentionWithLargeScoresDoesNotOverflow) {
  std::vector<float> query(32, 100);
  std::vector<Bf16> keys(64, to_bf16(100)), values(64, to_bf16(1));
  for (std::size_t i = 32; i < 64; ++i) values[i] = to_bf16(3);
  std::vector<Bf16> y(32);
  attend({{query.data(), 2, y.data()}}, keys, values, 32);
  for (const Bf16 value : y) EXPECT_EQ(to_float(value), 2);
}

TEST_P(TokenKernelsTest, AttentionToANaNIsNaN) {
  for (const std::size_t at : {0U, 1U, 36U}) {
    const std::vector<float> query = floats(16, 7);
    std::vector<Bf16> keys = halves(16 * 37, 8), values = halves(16 * 37, 9), y(16);
    keys[at * 16 + 3] = to_bf16(kNaN);
    attend({{query.data(), 37, y.data()}}, keys, values, 16);
    for (const Bf16 value : y) EXPECT_TRUE(std::isnan(to_float(value))) << at;
  }
}

TEST_P(TokenKernelsTest, FindsTheFirstThatIsLargeEnough) {
  std::vector<float> x(100, 1);
  x[3] = kNaN;
  x[41] = 5;
  x[97] = 5;
  EXPECT_EQ(kernels_.find_at_least(x.data(), 0, 100, 5), 41U);
  EXPECT_EQ(kernels_.find_at_least(x.data(), 41, 100, 5), 41U);
  EXPECT_EQ(kernels_.find_at_least(x.data(), 42, 100, 5), 97U);
  EXPECT_EQ(kernels_.find_at_least(x.data(), 98, 100, 5), 100U);
  EXPECT_EQ(kernels_.find_at_least(x.data(), 3, 4, -kInfinity), 4U) << "a NaN is not";
  EXPECT_EQ(kernels_.find_at_least(x.data(), 100, 100, 0), 100U);
}

INSTANTIATE_TEST_SUITE_P(Isas, TokenKernelsTest, ::testing::ValuesIn(available_isas()), isa_name);

std::vector<std::uint32_t> candidates(TopKSampler& sampler, std::span<const float> logits) {
  std::vector<std::uint32_t> tokens;
  for (const TopKSampler::Candidate& one : sampler.candidates(logits)) tokens.push_back(one.token);
  std::ranges::sort(tokens);
  return tokens;
}

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
      std::ranges::sort(logits);  // the hardest order
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
  EXPECT_EQ(sampler.draw(std::vector<float>(40, kNaN)), 0);
  std::vector<float> logits(40, kNaN);
  logits[33] = -5;
  EXPECT_EQ(sampler.draw(logits), 33);
  logits[3] = kInfinity;
  EXPECT_EQ(sampler.draw(logits), 3);
  std::vector<float> nothing(40, -kInfinity);
  nothing[21] = 0;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(sampler.draw(nothing), 21);
}

TEST(GreedyToken, IsTheFirstOfTheLargest) {
  EXPECT_EQ(greedy_token(std::vector<float>{1, 4, 2, 4}), 1);
}

}  // namespace
}  // namespace headroom::native
