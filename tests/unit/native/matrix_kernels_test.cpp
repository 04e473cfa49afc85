// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/random.h"
#include "headroom/workload/llm_model.h"
#include "headroom/workload/oracle.h"
#include "headroom_native/kernels/amx_tiles.h"
#include "headroom_native/kernels/gemm_kernel.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/weight_rows.h"
#include "native_case.h"

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

/// Relative to the largest |x|: f32 rounds partial sums by 2^-24, x of 16 bits (32639 steps) by half a step.
double error_of(const std::string& dtype, GemvForm form) {
  return dtype == "int8" && form == GemvForm::kBest ? 0.5 / 32639 + 1e-6 : 1e-6;
}

class GemvKernelTest : public ::testing::TestWithParam<std::tuple<std::string, Isa, GemvForm, Shape>> {};

const std::vector<GemvWalk> kWalks{{1, 0},
                                   {1, 8192},
                                   {1, 4096, PrefetchLevel::kFirstCache},
                                   {1, 8192, PrefetchLevel::kLargerCaches},
                                   {2, 0},
                                   {2, 8192},
                                   {4, 0},
                                   {4, 2048},
                                   {4, 8192, PrefetchLevel::kFirstCache},
                                   {4, 8192, PrefetchLevel::kLargerCaches},
                                   Residency::kNear,
                                   Residency::kFar};

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
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<std::pair<std::size_t, float>>> specials{
      {{5, std::numeric_limits<float>::quiet_NaN()}},
      {{5, kInfinite}},
      {{36, -kInfinite}},
      {{5, kInfinite}, {36, -kInfinite}}};
  for (const char* dtype : {"bf16", "int8"}) {
    for (const GemvKernel& kernel : all_kernels(dtype)) {
      for (const auto& special : specials) {
        Product product(dtype, {5, 37});
        for (const auto& [column, value] : special) product.x[column] = to_bf16(value);
        if (product.dtype == "int8") product.weights.as<std::int8_t>()[5] = 0;  // 0 times infinity is NaN
        product.run(kernel, Residency::kFar);
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
      product.run(kernel, Residency::kFar);
      for (std::size_t row = 0; row < 5; ++row) {
        const auto [expected, size] = product.exact(row);
        // vdpbf16ps flushes denormals to zero.
        const double lost = 1.2e-38 * size;
        EXPECT_NEAR(product.y[row], expected,
                    error_of("int8", GemvForm::kBest) * size * product.largest_x() + lost)
            << kernel.isa << ", x of " << scale;
      }
    }
  }
}

TEST(GemvKernel, TheLargestBytesDoNotOverflowTheirSums) {
  constexpr std::size_t kColumns = 65536;  // limit of 32-bit sums
  for (const std::size_t columns : {kColumns, kColumns + 1}) {
    for (const GemvKernel& kernel : all_kernels("int8")) {
      Product product("int8", {2, columns});
      for (std::size_t k = 0; k < columns; ++k) {
        product.weights.as<std::int8_t>()[k] = -128;
        product.weights.as<std::int8_t>()[columns + k] = 127;
        product.x[k] = to_bf16(-3.0F);
      }
      product.run(kernel, Residency::kFar);
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
    product.run(kernel, Residency::kFar);
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
  EXPECT_EQ(residency_of(1 << 19, true), Residency::kNear);
  EXPECT_EQ(residency_of(1 << 19, false), Residency::kFar);
  EXPECT_EQ(residency_of(1 << 25, true), Residency::kFar);
}

class GemmKernelTest : public testing::TestWithParam<Isa> {
 protected:
  const GemmKernel kernel_ = gemm_kernel(GetParam());
};

struct Problem {
  std::size_t columns, count;
  std::vector<Bf16> weights, x;
  std::vector<const Bf16*> rows, vectors;
  std::vector<std::vector<double>> expected;

  Problem(std::size_t columns_, std::size_t count_)
      : columns(columns_), count(count_), weights(kMaxGemmRows * columns), x(count * columns) {
    fill_random(std::span(weights), 1);
    fill_random(std::span(x), 2);
    for (std::size_t row = 0; row < kMaxGemmRows; ++row) rows.push_back(weights.data() + row * columns);
    for (std::size_t v = 0; v < count; ++v) {
      vectors.push_back(x.data() + v * columns);
      expected.push_back(exact_gemv(fresh_threads(1), "bf16",
                                    reinterpret_cast<const std::byte*>(weights.data()), kMaxGemmRows,
                                    to_doubles(std::span(x).subspan(v * columns, columns))));
    }
  }
};

void expect_right_sums(const GemmKernel& kernel) {
  for (const std::size_t columns : {1U, 31U, 32U, 70U, 257U, 600U}) {
    for (const std::size_t count : {1U, 3U, 4U, 9U, 16U, 37U}) {
      const Problem problem(columns, count);
      for (const std::size_t used : {std::size_t{1}, std::size_t{5}, kernel.rows}) {
        constexpr float kUntouched = -12345;
        std::vector<float> found(count * (kMaxGemmRows + 1), kUntouched);
        std::vector<float*> sums;
        for (std::size_t v = 0; v < count; ++v) sums.push_back(found.data() + v * (kMaxGemmRows + 1));
        const auto run = [&](bool adds) {
          kernel.multiply(problem.rows.data(), used, columns, problem.vectors.data(), count, adds, 64,
                          sums.data());
        };
        const auto expect_times = [&](double times) {
          const double slack = 1e-5 * times * (1 + std::sqrt(static_cast<double>(columns)));
          for (std::size_t v = 0; v < count; ++v) {
            for (std::size_t row = 0; row <= kMaxGemmRows; ++row) {
              const double right = row < used ? times * problem.expected[v][row] : double{kUntouched};
              ASSERT_NEAR(sums[v][row], right, slack)
                  << columns << " " << count << " " << used << " " << v << " " << row;
            }
          }
        };
        run(false);
        expect_times(1);
        run(true);
        expect_times(2);
      }
    }
  }
}

TEST_P(GemmKernelTest, SumsAreRightForShapesThatAreNoMultiples) {
  expect_right_sums(kernel_);
}

/// AMX: Intel SDM volume 2, TDPBF16PS.
class TileModel {
 public:
  void set_up() { std::memset(tiles_, 0x55, sizeof tiles_); }
  template <int kTile>
  void zero() {
    std::memset(tiles_[kTile], 0, sizeof tiles_[kTile]);
  }
  template <int kTile>
  void load(const void* from, std::size_t stride) {
    for (std::size_t row = 0; row < 16; ++row)
      std::memcpy(tiles_[kTile][row], static_cast<const std::byte*>(from) + row * stride, 64);
  }
  template <int kTile>
  void store(void* to, std::size_t stride) {
    for (std::size_t row = 0; row < 16; ++row)
      std::memcpy(static_cast<std::byte*>(to) + row * stride, tiles_[kTile][row], 64);
  }
  template <int kSum, int kA, int kB>
  void multiply() {
    for (std::size_t m = 0; m < 16; ++m) {
      for (std::size_t n = 0; n < 16; ++n) {
        float sum = std::bit_cast<float>(tiles_[kSum][m][n]);
        for (std::size_t pair = 0; pair < 16; ++pair) {
          const std::uint32_t a = tiles_[kA][m][pair], b = tiles_[kB][pair][n];
          sum += std::bit_cast<float>(a << 16U) * std::bit_cast<float>(b << 16U);
          sum += std::bit_cast<float>(a & 0xffff0000U) * std::bit_cast<float>(b & 0xffff0000U);
        }
        tiles_[kSum][m][n] = std::bit_cast<std::uint32_t>(sum);
      }
    }
  }

 private:
  std::uint32_t tiles_[8][16][16];
};

TEST(TiledGemm, SumsAreRightByAModelOfTheInstructions) {
  GemmKernel kernel;
  kernel.multiply = TiledGemm<TileModel>::multiply;
  kernel.rows = TiledGemm<TileModel>::kSide;
  expect_right_sums(kernel);
}

constexpr const char* kBlockDtypes[] = {"int8_g32", "int4", "q4_k", "q5_k", "q6_k"};

std::vector<float> product_of(const GemvKernel& kernel, const LlmMatrix& matrix, std::size_t rows,
                              const std::vector<Bf16>& x, GemvWalk walk) {
  Buffer prepared(prepared_bytes(matrix.columns));
  kernel.prepare(x.data(), matrix.columns, prepared.data());
  std::vector<float> y(rows, NAN);
  kernel.multiply(matrix.weights, rows, matrix.columns, prepared.data(), walk, y.data());
  return y;
}

std::vector<double> exact_product_of(const LlmMatrix& matrix, std::size_t rows, const std::vector<Bf16>& x) {
  return exact_gemv(fresh_threads(1), matrix.dtype(), matrix.weights, rows,
                    to_doubles(std::span<const Bf16>(x)));
}

LlmConfig of_dtype(const char* dtype) {
  LlmConfig config;
  config.model = "small";
  config.dtype = dtype;
  config.layers = 1;
  const bool is_super = block_columns(llm_format(dtype)) == 256;
  config.dim = is_super ? 256 : 96;
  config.heads = config.kv_heads = 2;
  config.hidden = is_super ? 768 : 160;
  config.vocab = 7;
  return config;
}

TEST_P(GemmKernelTest, UnpacksWhatTheReferenceReads) {
  for (const char* dtype : {"int8", "int8_g32", "int4", "q4_k", "q5_k", "q6_k"}) {
    const LlmWeights weights(of_dtype(dtype), 3, fresh_threads(1));
    const LlmMatrix& matrix = weights.layer(0).w2.front();
    std::vector<Bf16> row(matrix.columns);
    const auto unpack =
        block_columns(matrix.format) == 256 ? unpack_super_blocks(GetParam()) : kernel_.unpack;
    unpack(dtype, matrix.weights, matrix.columns, 64, row.data());
    for (std::size_t column = 0; column < matrix.columns; ++column) {
      std::vector<double> one(matrix.columns);
      one[column] = 1;
      const double right = exact_gemv(fresh_threads(1), dtype, matrix.weights, 1, one).front();
      EXPECT_EQ(to_float(row[column]), to_float(to_bf16(static_cast<float>(right))))
          << dtype << " " << column;
    }
  }
}

TEST_P(GemmKernelTest, GemvOfBlocksIsTheReferences) {
  for (const char* dtype : kBlockDtypes) {
    const LlmWeights weights(of_dtype(dtype), 5, fresh_threads(1));
    for (const LlmMatrix* matrix : {&weights.layer(0).qkv, &weights.layer(0).w2.front(), &weights.output()}) {
      std::vector<Bf16> x(matrix->columns);
      fill_random(std::span(x), 4);
      const std::vector<double> right = exact_product_of(*matrix, matrix->rows, x);
      double squares = 0;
      for (const double value : right) squares += value * value / static_cast<double>(right.size());
      const GemvKernel kernel = gemv_kernel(dtype, GetParam());
      for (const GemvWalk walk : {GemvWalk(Residency::kNear), GemvWalk(Residency::kFar), kernel.far_walk}) {
        const std::vector<float> y = product_of(kernel, *matrix, matrix->rows, x, walk);
        for (std::size_t row = 0; row < y.size(); ++row)
          EXPECT_NEAR(y[row], right[row], 2e-4 * std::sqrt(squares)) << dtype << " " << row;
      }
    }
  }
}

/// Reads each number separately: x is 1 in one column.
TEST_P(GemmKernelTest, EachNumberOfABlockIsTheReferences) {
  for (const char* dtype : kBlockDtypes) {
    const LlmWeights weights(of_dtype(dtype), 6, fresh_threads(1));
    const LlmMatrix& matrix = weights.layer(0).out;
    const GemvKernel kernel = gemv_kernel(dtype, GetParam());
    double largest = 0;
    for (std::size_t column = 0; column < matrix.columns; ++column) {
      std::vector<Bf16> x(matrix.columns, to_bf16(0));
      x[column] = to_bf16(1);
      const std::vector<double> right = exact_product_of(matrix, 3, x);
      const std::vector<float> y = product_of(kernel, matrix, 3, x, kernel.far_walk);
      for (std::size_t row = 0; row < y.size(); ++row) {
        largest = std::max(largest, std::fabs(right[row]));
        // A number is the difference of two up to twelve times as large.
        EXPECT_NEAR(y[row], right[row], 2e-6 * std::max(largest, 0.1)) << dtype << " " << column;
      }
    }
  }
}

TEST_P(GemmKernelTest, TheLargestNumbersOfSuperBlocksDoNotOverflow) {
  for (const char* dtype : {"q4_k", "q5_k", "q6_k"}) {
    const LlmFormat format = llm_format(dtype);
    const std::size_t bytes = block_bytes(format);
    const GemvKernel kernel = gemv_kernel(dtype, GetParam());
    for (const unsigned fill : {0xffU, 0x00U, 0x80U}) {
      std::vector<std::byte> row(2 * bytes, static_cast<std::byte>(fill));
      for (std::size_t block = 0; block < 2; ++block) {
        const std::uint16_t halves[] = {0x3c00, 0x3c00};  // 1, and 1
        std::byte* const at = row.data() + block * bytes;
        if (format == LlmFormat::kInt6Super) {
          std::memcpy(at + bytes - 2, halves, 2);
        } else {
          std::memcpy(at, halves, 4);
        }
      }
      const std::vector<Bf16> x(512, to_bf16(-3.5F));
      Buffer prepared(prepared_bytes(512));
      float y = 0;
      kernel.prepare(x.data(), 512, prepared.data());
      kernel.multiply(row.data(), 1, 512, prepared.data(), kernel.far_walk, &y);
      const double right =
          exact_gemv(fresh_threads(1), dtype, row.data(), 1, to_doubles(std::span<const Bf16>(x))).front();
      EXPECT_NEAR(y, right, 1e-6 * std::fabs(right) + 1) << dtype << " " << fill;
    }
  }
}

TEST_P(GemmKernelTest, GemvOfBlocksKeepsWhatIsNoNumber) {
  for (const char* dtype : kBlockDtypes) {
    const LlmWeights weights(of_dtype(dtype), 5, fresh_threads(1));
    const LlmMatrix& matrix = weights.layer(0).out;
    const GemvKernel kernel = gemv_kernel(dtype, GetParam());
    const auto product = [&](float value) {
      std::vector<Bf16> x(matrix.columns, to_bf16(0));
      x[40] = to_bf16(value);
      return product_of(kernel, matrix, matrix.rows, x, kernel.far_walk);
    };
    EXPECT_THAT(product(0), testing::Each(0.0F));
    for (const float value : product(NAN)) EXPECT_TRUE(std::isnan(value));
    const auto tiny = product(1e-35F), one = product(1);
    for (std::size_t row = 0; row < one.size(); ++row)
      EXPECT_NEAR(tiny[row] / 1e-35F, one[row], 1e-2 * (std::fabs(one[row]) + 0.01)) << dtype << " " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, GemmKernelTest, testing::ValuesIn(available_isas()), isa_name);

TEST(BlockScale, IsTheNumberOfBinary16) {
  const auto of = [](std::uint16_t bits) {
    std::byte bytes[2];
    std::memcpy(bytes, &bits, sizeof bits);
    return block_scale(bytes);
  };
  EXPECT_EQ(of(0x3c00), 1.0F);
  EXPECT_EQ(of(0xc001), -2.0F * (1 + 0x1p-10F));
  EXPECT_EQ(of(0x0001), 0x1p-24F);
  EXPECT_EQ(of(0x7bff), 65504.0F);
  EXPECT_EQ(of(0x0000), 0.0F);
}

}  // namespace
}  // namespace headroom::native
