// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
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

const char* name_of(GemvForm form) {
  return form == GemvForm::kBest ? "best" : form == GemvForm::kTable ? "table" : "strict";
}

/// A product whose weights and x are checked against float64 sums over the same bytes.
struct Product {
  std::string dtype;
  Shape shape;
  Buffer weights, prepared;
  std::vector<Bf16> x;
  std::vector<float> y;

  Product(std::string of, Shape size)
      : dtype(std::move(of)),
        shape(size),
        weights(size.rows * size.columns * (dtype == "bf16" ? 2 : 1)),
        prepared(prepared_bytes(size.columns)),
        x(size.columns),
        y(size.rows + 1, -1e30F) {
    if (dtype == "bf16") {
      fill_random(weights.as<Bf16>(), 1);
    } else {
      fill_random(weights.as<std::int8_t>(), 1);
    }
    fill_random(std::span(x), 2);
    prepared.poison();
  }
  void run(const GemvKernel& kernel, GemvWalk walk) {
    kernel.prepare(x.data(), shape.columns, prepared.data());
    kernel.multiply(weights.data(), shape.rows, shape.columns, prepared.data(), walk, y.data());
  }
  /// The sum of a row in float64, and that of |w|.
  std::pair<double, double> exact(std::size_t row) const {
    double sum = 0, size = 0;
    for (std::size_t k = 0; k < shape.columns; ++k) {
      const double weight = value_at(weights, dtype, row * shape.columns + k);
      sum += weight * to_float(x[k]);
      size += std::fabs(weight);
    }
    return {sum, size};
  }
  double largest_x() const {
    double most = 0;
    for (const Bf16 value : x) most = std::max(most, std::fabs(double{to_float(value)}));
    return most;
  }
};

/// What a product of a weight and x may be off, as a share of the largest |x|: f32 rounds each of some
/// partial sums by 2^-24 of its size; x in 16 bits (32639 steps) is off by half a step.
double error_of(const std::string& dtype, GemvForm form) {
  return dtype == "int8" && form == GemvForm::kBest ? 0.5 / 32639 + 1e-6 : 1e-6;
}

class GemvKernelTest : public ::testing::TestWithParam<std::tuple<std::string, Isa, GemvForm, Shape>> {};

const std::vector<GemvWalk> kWalks{{1, 0},
                                   {1, 8192},
                                   {1, 4096, Into::kFirstCache},
                                   {1, 8192, Into::kLargerCaches},
                                   {2, 0},
                                   {2, 8192},
                                   {4, 0},
                                   {4, 2048},
                                   {4, 8192, Into::kFirstCache},
                                   {4, 8192, Into::kLargerCaches},
                                   Reach::kNear,
                                   Reach::kFar};

TEST_P(GemvKernelTest, AgreesWithFloat64) {
  const auto& [dtype, isa, form, shape] = GetParam();
  const GemvKernel kernel = gemv_kernel(dtype, isa, form);
  for (const GemvWalk& walk : kWalks) {
    Product product(dtype, shape);
    product.run(kernel, walk);
    for (std::size_t row = 0; row < shape.rows; ++row) {
      const auto [expected, size] = product.exact(row);
      EXPECT_NEAR(product.y[row], expected, error_of(dtype, form) * size * product.largest_x())
          << "row " << row << ", " << kernel.isa << ", " << walk.rows << " rows, " << walk.ahead << " ahead";
    }
    EXPECT_EQ(product.y[shape.rows], -1e30F) << "wrote behind the last row";
  }
}

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (const std::size_t columns : {1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 1025}) {
    shapes.push_back({1, columns});
    shapes.push_back({7, columns});
    shapes.push_back({12, columns});
  }
  return shapes;
}

std::string name_of_case(const ::testing::TestParamInfo<GemvKernelTest::ParamType>& info) {
  const auto& [dtype, isa, form, shape] = info.param;
  return dtype + "_" + name_of(isa) + "_" + name_of(form) + "_" + std::to_string(shape.rows) + "x" +
         std::to_string(shape.columns);
}

/// What this CPU has.
std::vector<GemvKernelTest::ParamType> products() {
  std::vector<GemvKernelTest::ParamType> found;
  for (const char* dtype : {"bf16", "int8"}) {
    for (const Isa isa : available_isas()) {
      for (const GemvForm form : {GemvForm::kBest, GemvForm::kStrict, GemvForm::kTable}) {
        if (!has_gemv_form(dtype, isa, form)) continue;
        for (const Shape& shape : shapes()) found.emplace_back(dtype, isa, form, shape);
      }
    }
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, GemvKernelTest, ::testing::ValuesIn(products()), name_of_case);

/// Every form that this CPU has for weights of `dtype`.
std::vector<GemvKernel> all_kernels(const std::string& dtype) {
  std::vector<GemvKernel> kernels;
  for (const Isa isa : available_isas()) {
    for (const GemvForm form : {GemvForm::kBest, GemvForm::kStrict, GemvForm::kTable}) {
      if (has_gemv_form(dtype, isa, form)) kernels.push_back(gemv_kernel(dtype, isa, form));
    }
  }
  return kernels;
}

void expect_as_float64(const Product& product, const std::string& what) {
  for (std::size_t row = 0; row < product.shape.rows; ++row) {
    const double expected = product.exact(row).first;
    const double actual = product.y[row];
    if (std::isfinite(expected)) continue;
    EXPECT_EQ(std::isnan(actual), std::isnan(expected)) << what << ", row " << row << ": " << actual;
    if (!std::isnan(expected)) {
      EXPECT_EQ(actual, expected) << what << ", row " << row;
    }
  }
}

TEST(GemvKernel, NaNAndInfinityInXComeOutAsInFloat64) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<std::pair<std::size_t, float>>> specials{
      {{5, std::numeric_limits<float>::quiet_NaN()}},
      {{5, kInfinity}},
      {{36, -kInfinity}},
      {{5, kInfinity}, {36, -kInfinity}}};
  for (const char* dtype : {"bf16", "int8"}) {
    for (const GemvKernel& kernel : all_kernels(dtype)) {
      for (const auto& special : specials) {
        Product product(dtype, {5, 37});
        for (const auto& [column, value] : special) product.x[column] = to_bf16(value);
        if (product.dtype == "int8") product.weights.as<std::int8_t>()[5] = 0;  // 0 times infinity is NaN
        product.run(kernel, Reach::kFar);
        expect_as_float64(product, kernel.isa + " " + dtype);
      }
    }
  }
}

TEST(GemvKernel, ANaNInOneRowStaysInThatRow) {
  for (const GemvKernel& kernel : all_kernels("bf16")) {
    for (const GemvWalk& walk : kWalks) {
      Product product("bf16", {5, 37});
      product.weights.as<Bf16>()[2 * 37] = to_bf16(std::numeric_limits<float>::quiet_NaN());
      product.run(kernel, walk);
      for (std::size_t row = 0; row < 5; ++row) {
        EXPECT_EQ(std::isnan(product.y[row]), row == 2) << kernel.isa << ", row " << row;
      }
    }
  }
}

TEST(GemvKernel, XOfAnySizeKeepsItsAccuracy) {
  for (const float scale : {0.0F, 1e-37F, 1e-20F, 1e30F}) {
    for (const GemvKernel& kernel : all_kernels("int8")) {
      Product product("int8", {5, 100});
      for (Bf16& value : product.x) value = to_bf16(to_float(value) * scale);
      product.run(kernel, Reach::kFar);
      for (std::size_t row = 0; row < 5; ++row) {
        const auto [expected, size] = product.exact(row);
        // vdpbf16ps takes what is below the smallest normal float for zero.
        const double lost = 1.2e-38 * size;
        EXPECT_NEAR(product.y[row], expected,
                    error_of("int8", GemvForm::kBest) * size * product.largest_x() + lost)
            << kernel.isa << ", x of " << scale;
      }
    }
  }
}

TEST(GemvKernel, TheLargestBytesDoNotOverflowTheirSums) {
  constexpr std::size_t kColumns = 65536;  // the most that sums of 32 bits hold; one more takes another way
  for (const std::size_t columns : {kColumns, kColumns + 1}) {
    for (const GemvKernel& kernel : all_kernels("int8")) {
      Product product("int8", {2, columns});
      for (std::size_t k = 0; k < columns; ++k) {
        product.weights.as<std::int8_t>()[k] = -128;
        product.weights.as<std::int8_t>()[columns + k] = 127;
        product.x[k] = to_bf16(-3.0F);
      }
      product.run(kernel, Reach::kFar);
      for (std::size_t row = 0; row < 2; ++row) {
        const double expected = product.exact(row).first;
        EXPECT_NEAR(product.y[row], expected, 3e-5 * std::fabs(expected)) << kernel.isa << ", row " << row;
      }
    }
  }
}

TEST(GemvKernel, TheStrictFormIsMoreAccurateThanTheDefault) {
  const auto error_rms = [](const GemvKernel& kernel) {
    Product product("int8", {64, 4096});
    product.run(kernel, Reach::kFar);
    double sum = 0, scale = 0;
    for (std::size_t row = 0; row < 64; ++row) {
      const double expected = product.exact(row).first;
      sum += (product.y[row] - expected) * (product.y[row] - expected);
      scale += expected * expected;
    }
    return std::sqrt(sum / scale);
  };
  for (const Isa isa : available_isas()) {
    const double strict = error_rms(gemv_kernel("int8", isa, GemvForm::kStrict));
    EXPECT_LT(strict, 5e-7) << name_of(isa);
    EXPECT_LT(error_rms(gemv_kernel("int8", isa)), 1e-4) << name_of(isa);
    if (isa >= Isa::kAvx512Vnni) {
      EXPECT_LT(10 * strict, error_rms(gemv_kernel("int8", isa))) << name_of(isa);
    }
  }
}

TEST(GemvKernel, RoundsAsToBf16Does) {
  std::vector<float> x{0.0F,
                       -0.0F,
                       1.0F,
                       1.00390625F,
                       1.01171875F,
                       -2.5F,
                       3.4e38F,
                       1e-30F,
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  for (int i = 0; i < 40; ++i) x.push_back(static_cast<float>(i) * 0.37F - 7);
  for (const GemvKernel& kernel : all_kernels("bf16")) {
    std::vector<Bf16> y(x.size() + 1);
    std::vector<float> with_nan = x;
    with_nan[3] = std::numeric_limits<float>::quiet_NaN();
    kernel.round(x.data(), x.size(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(y[i].bits, to_bf16(x[i]).bits) << kernel.isa << " of " << x[i];
    EXPECT_EQ(y[x.size()].bits, 0) << "wrote behind the last value";
    kernel.round(with_nan.data(), with_nan.size(), y.data());
    EXPECT_TRUE(std::isnan(to_float(y[3]))) << kernel.isa;
  }
}

TEST(GemvKernel, RefusesAnUnknownDtype) {
  EXPECT_THROW(gemv_kernel("f64", Isa::kBaseline), std::logic_error);
}

TEST(GemvKernel, RefusesATableWhereThereIsNone) {
  EXPECT_THROW(gemv_kernel("bf16", available_isas().back(), GemvForm::kTable), std::logic_error);
  EXPECT_THROW(gemv_kernel("int8", Isa::kBaseline, GemvForm::kTable), std::logic_error);
}

TEST(GemvKernel, OnlyHotWeightsThatFitAreNear) {
  EXPECT_EQ(reach_of(1 << 19, true), Reach::kNear);
  EXPECT_EQ(reach_of(1 << 19, false), Reach::kFar);
  EXPECT_EQ(reach_of(1 << 25, true), Reach::kFar);
}

}  // namespace
}  // namespace headroom::native
