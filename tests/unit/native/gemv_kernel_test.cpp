// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/gemv_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/random.h"

namespace headroom::native {
namespace {

double value_at(const Buffer& weights, const std::string& dtype, std::size_t index) {
  return dtype == "bf16" ? to_float(weights.as<Bf16>()[index]) : weights.as<std::int8_t>()[index];
}

struct Shape {
  std::size_t rows;
  std::size_t columns;
};

class GemvKernelTest : public ::testing::TestWithParam<std::tuple<std::string, Isa, Reach, Shape>> {};

TEST_P(GemvKernelTest, AgreesWithFloat64) {
  const auto& [dtype, isa, reach, shape] = GetParam();
  Buffer weights(shape.rows * shape.columns * (dtype == "bf16" ? 2 : 1));
  std::vector<Bf16> x(shape.columns);
  if (dtype == "bf16") {
    fill_random(weights.as<Bf16>(), 1);
  } else {
    fill_random(weights.as<std::int8_t>(), 1);
  }
  fill_random(std::span(x), 2);
  Buffer prepared(prepared_bytes(shape.columns));
  prepared.poison();
  std::vector<float> y(shape.rows + 1, -1e30F);

  const GemvKernel kernel = gemv_kernel(dtype, isa);
  kernel.prepare(x.data(), shape.columns, prepared.data());
  kernel.multiply(weights.data(), shape.rows, shape.columns, prepared.data(), reach, y.data());

  for (std::size_t row = 0; row < shape.rows; ++row) {
    double expected = 0, size_of_terms = 0;
    for (std::size_t k = 0; k < shape.columns; ++k) {
      const double term = value_at(weights, dtype, row * shape.columns + k) * to_float(x[k]);
      expected += term;
      size_of_terms += std::fabs(term);
    }
    // f32 rounds each of some partial sums by 2^-24 of its size.
    EXPECT_NEAR(y[row], expected, 1e-6 * size_of_terms) << "row " << row << ", " << kernel.isa;
  }
  EXPECT_EQ(y[shape.rows], -1e30F) << "wrote behind the last row";
}

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (const std::size_t columns : {1, 2, 3, 31, 32, 33, 127, 128, 129, 1000, 1025}) {
    shapes.push_back({1, columns});
    shapes.push_back({7, columns});
  }
  return shapes;
}

std::string name_of_case(const ::testing::TestParamInfo<GemvKernelTest::ParamType>& info) {
  const auto& [dtype, isa, reach, shape] = info.param;
  return dtype + "_" + name_of(isa) + (reach == Reach::kNear ? "_near_" : "_far_") +
         std::to_string(shape.rows) + "x" + std::to_string(shape.columns);
}

INSTANTIATE_TEST_SUITE_P(All, GemvKernelTest,
                         ::testing::Combine(::testing::Values("bf16", "int8"),
                                            ::testing::ValuesIn(available_isas()),
                                            ::testing::Values(Reach::kNear, Reach::kFar),
                                            ::testing::ValuesIn(shapes())),
                         name_of_case);

TEST(GemvKernel, ANaNInOneRowStaysInThatRow) {
  for (const Isa isa : available_isas()) {
    for (const Reach reach : {Reach::kNear, Reach::kFar}) {
      constexpr std::size_t kRows = 5, kColumns = 37;
      std::vector<Bf16> weights(kRows * kColumns, to_bf16(1)), x(kColumns, to_bf16(1));
      weights[2 * kColumns] = to_bf16(std::numeric_limits<float>::quiet_NaN());
      Buffer prepared(prepared_bytes(kColumns));
      std::vector<float> y(kRows);
      const GemvKernel kernel = gemv_kernel("bf16", isa);
      kernel.prepare(x.data(), kColumns, prepared.data());
      kernel.multiply(reinterpret_cast<const std::byte*>(weights.data()), kRows, kColumns, prepared.data(),
                      reach, y.data());
      for (std::size_t row = 0; row < kRows; ++row) {
        EXPECT_EQ(std::isnan(y[row]), row == 2) << kernel.isa << ", row " << row;
      }
    }
  }
}

TEST(GemvKernel, RefusesAnUnknownDtype) {
  EXPECT_THROW(gemv_kernel("f64", Isa::kBaseline), std::logic_error);
}

TEST(GemvKernel, OnlyHotWeightsThatFitAreNear) {
  EXPECT_EQ(reach_of(1 << 19, true), Reach::kNear);
  EXPECT_EQ(reach_of(1 << 19, false), Reach::kFar);
  EXPECT_EQ(reach_of(1 << 25, true), Reach::kFar);
}

}  // namespace
}  // namespace headroom::native
