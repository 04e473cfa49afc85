// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/token_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "headroom/experiment/random.h"
#include "headroom/workload/llm_reference.h"
#include "headroom/workload/oracle.h"

namespace headroom::native {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Half a unit of a bf16, and what sums in f32 add.
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
      std::vector<double> expected = as_doubles(x);
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
  for (const std::size_t count : {1U, 64U}) {  // the last values of a vector, and a vector
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
  from[2] = std::bit_cast<float>(0x7f800001U);  // a NaN whose upper half alone is an infinity
  from[3] = std::bit_cast<float>(0x3f808000U);  // half way: to the even one
  std::vector<Bf16> to(71);
  kernels_.round(from.data(), from.size(), to.data());
  for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(to[i].bits, to_bf16(from[i]).bits) << i;
}

TEST_P(TokenKernelsTest, AttentionAgreesWithFloat64) {
  for (const std::size_t width : {1U, 8U, 20U, 64U, 128U, 130U}) {
    for (const std::size_t positions : {1U, 2U, 37U, 200U}) {
      std::vector<float> query = floats(width, 7);
      for (float& value : query) value *= 3;  // shares that differ
      const std::vector<Bf16> keys = halves(width * positions, 8), values = halves(width * positions, 9);
      std::vector<Bf16> y(width);
      attend({{query.data(), positions, y.data()}}, keys, values, width);
      const std::vector<double> expected =
          exact_attention(as_doubles(query), as_doubles(keys), as_doubles(values));
      for (std::size_t i = 0; i < width; ++i) {
        EXPECT_NEAR(to_float(y[i]), expected[i], kRounding * std::fabs(expected[i]) + 2e-6)
            << width << " " << positions << " " << i;
      }
    }
  }
}

/// Heads of a group see the same positions, tokens of a draft one more each.
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
              exact_attention(as_doubles(std::span(together[q].query, width)), as_doubles(seen),
                              as_doubles(std::span(values.data(), seen.size())));
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

/// Far apart, so that what was summed before counts nothing, and the other way round.
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

INSTANTIATE_TEST_SUITE_P(Isas, TokenKernelsTest, ::testing::ValuesIn(available_isas()),
                         [](const auto& suite) { return std::string(name_of(suite.param)); });

}  // namespace
}  // namespace headroom::native
