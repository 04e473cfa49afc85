// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/oracle.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom {
namespace {

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

}  // namespace
}  // namespace headroom
