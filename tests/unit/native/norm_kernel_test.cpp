// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/norm_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/random.h"

namespace headroom::native {
namespace {

/// Exact to about 1e-7; bf16 rounds by up to 2^-8.
void expect_norm(std::span<const double> x, std::span<const float> gamma, std::span<const float> beta,
                 std::span<const Bf16> y, const std::string& what) {
  const auto count = static_cast<double>(x.size());
  double mean = 0, variance = 0;
  for (const double value : x) mean += value / count;
  for (const double value : x) variance += (value - mean) * (value - mean) / count;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = (x[k] - mean) / std::sqrt(variance + 1e-5) * gamma[k] + beta[k];
    const double scale = std::fabs(expected) + 0.01;
    EXPECT_NEAR(to_float(y[k]), expected, 1.1 * 0x1p-8 * scale) << what << ", column " << k;
  }
}

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  fill_random(std::span(values), seed);
  return values;
}

const std::vector<NormWalk> kNormWalks{Stores::kCached,
                                       Stores::kNontemporal,
                                       {Stores::kCached, 1, 4096, true},
                                       {Stores::kCached, 2, 0, false},
                                       {Stores::kCached, 4, 0, true},
                                       {Stores::kNontemporal, 1, 0, false},
                                       {Stores::kNontemporal, 1, 8192, true},
                                       {Stores::kNontemporal, 2, 8192, true}};

std::vector<float> rounded_to_bf16(std::vector<float> values) {
  for (float& value : values) value = to_float(to_bf16(value));
  return values;
}

void expect_rows(const NormKernel& kernel, NormWalk walk, std::span<const float> gamma,
                 std::span<const float> beta) {
  constexpr std::size_t kRows = 15;
  const std::size_t columns = gamma.size();
  Buffer x(kRows * columns * sizeof(Bf16)), y(kRows * columns * sizeof(Bf16));
  std::vector<float> prepared(prepared_norm_floats(columns));
  fill_random(x.as<Bf16>(), 3);
  y.poison();
  kernel.prepare(gamma.data(), beta.data(), columns, prepared.data());
  kernel.rows(x.as<Bf16>().data(), kRows, columns, prepared.data(), walk, y.as<Bf16>().data());
  for (std::size_t row = 0; row < kRows; ++row) {
    std::vector<double> values;
    for (const Bf16 value : x.as<Bf16>().subspan(row * columns, columns)) values.push_back(to_float(value));
    expect_norm(values, gamma, beta, y.as<Bf16>().subspan(row * columns, columns),
                kernel.isa + " D=" + std::to_string(columns));
  }
}

TEST(NormKernel, RowsAgreeWithFloat64) {
  for (const Isa isa : available_isas()) {
    for (const NormWalk& walk : kNormWalks) {
      for (const std::size_t columns : {1, 2, 3, 31, 32, 33, 96, 127, 128, 1000, 1025}) {
        const std::vector<float> gamma = random_floats(columns, 1), beta = random_floats(columns, 2);
        expect_rows(norm_kernel(isa), walk, gamma, beta);
        expect_rows(norm_kernel(isa), walk, rounded_to_bf16(gamma), rounded_to_bf16(beta));
      }
    }
  }
}

TEST(NormKernel, OneParameterThatIsNoBf16IsSeen) {
  for (const Isa isa : available_isas()) {
    for (const std::size_t columns : {32, 33, 47, 48}) {
      const std::vector<float> ones(columns, 1.0F);
      std::vector<float> gamma = ones, beta(columns, 0.0F);
      beta.back() = 1.0F + 0.99F * 0x1p-7F;  // 1 if truncated to bf16
      expect_rows(norm_kernel(isa), Stores::kCached, gamma, beta);
      beta.back() = 0;
      gamma.back() = 1.0F + 0.99F * 0x1p-7F;
      expect_rows(norm_kernel(isa), Stores::kCached, gamma, beta);
    }
  }
}

/// With gamma 0 the result is beta: ties, carries into the exponent, even and odd columns.
TEST(NormKernel, ResultsRoundToNearestEven) {
  constexpr std::size_t kColumns = 320;
  constexpr std::uint32_t kUpper[] = {0x3f80, 0x3f81, 0xbf80, 0xbfff, 0x0080, 0x80ff, 0x7f7e, 0x4b7f};
  constexpr std::uint32_t kLower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x4000};
  std::vector<float> gamma(kColumns, 0), beta(kColumns);
  std::vector<Bf16> x(kColumns), y(kColumns);
  fill_random(std::span(x), 3);
  for (std::size_t k = 0; k < kColumns; ++k) {
    beta[k] = std::bit_cast<float>(kUpper[k / 5 % 8] << 16 | kLower[k % 7]);
  }
  std::vector<float> prepared(prepared_norm_floats(kColumns));
  for (const Isa isa : available_isas()) {
    for (const NormWalk& walk : kNormWalks) {
      const NormKernel kernel = norm_kernel(isa);
      kernel.prepare(gamma.data(), beta.data(), kColumns, prepared.data());
      kernel.rows(x.data(), 1, kColumns, prepared.data(), walk, y.data());
      for (std::size_t k = 0; k < kColumns; ++k) {
        EXPECT_EQ(to_float(y[k]), to_float(to_bf16(beta[k]))) << kernel.isa << ", column " << k;
      }
    }
  }
}

TEST(NormKernel, VectorAgreesWithFloat64) {
  for (const Isa isa : available_isas()) {
    for (const std::size_t columns : {1, 2, 3, 31, 33, 127, 1000, 1025}) {
      const std::vector<float> x = random_floats(columns, 4);
      std::vector<Bf16> gamma(columns), beta(columns), y(columns);
      fill_random(std::span(gamma), 5);
      fill_random(std::span(beta), 6);
      const NormKernel kernel = norm_kernel(isa);
      kernel.vector(x.data(), columns, gamma.data(), beta.data(), y.data());
      std::vector<float> gamma_floats, beta_floats;
      for (const Bf16 value : gamma) gamma_floats.push_back(to_float(value));
      for (const Bf16 value : beta) beta_floats.push_back(to_float(value));
      const std::vector<double> values(x.begin(), x.end());
      expect_norm(values, gamma_floats, beta_floats, y, kernel.isa + " D=" + std::to_string(columns));
    }
  }
}

void expect_neighbours_spared(const NormKernel& kernel, NormWalk walk, std::span<const Bf16> third,
                              bool has_answer) {
  constexpr std::size_t kRows = 9, kColumns = 128;
  const std::vector<float> gamma = random_floats(kColumns, 1), beta = random_floats(kColumns, 2);
  Buffer x(kRows * kColumns * sizeof(Bf16)), y(kRows * kColumns * sizeof(Bf16));
  fill_random(x.as<Bf16>(), 3);
  std::copy(third.begin(), third.end(), x.as<Bf16>().begin() + 2 * kColumns);
  std::vector<float> prepared(prepared_norm_floats(kColumns));
  kernel.prepare(gamma.data(), beta.data(), kColumns, prepared.data());
  kernel.rows(x.as<Bf16>().data(), kRows, kColumns, prepared.data(), walk, y.as<Bf16>().data());
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto of_row = y.as<Bf16>().subspan(row * kColumns, kColumns);
    if (row == 2 && !has_answer) {
      for (const Bf16 result : of_row) EXPECT_TRUE(std::isnan(to_float(result))) << kernel.isa;
      continue;
    }
    std::vector<double> values;
    for (const Bf16 given : x.as<Bf16>().subspan(row * kColumns, kColumns)) values.push_back(to_float(given));
    expect_norm(values, gamma, beta, of_row, kernel.isa + " row " + std::to_string(row));
  }
}

TEST(NormKernel, OneHardRowSparesItsNeighbours) {
  const std::vector<Bf16> ones(128, to_bf16(1));
  std::vector<Bf16> nan = ones, infinite = ones, tiny = ones, far = ones;
  nan[7] = to_bf16(std::numeric_limits<float>::quiet_NaN());
  infinite[7] = to_bf16(std::numeric_limits<float>::infinity());
  for (std::size_t k = 0; k < 128; ++k) {
    tiny[k] = to_bf16(k % 2 == 0 ? 1e-20F : -1e-20F);  // the variance underflows
    far[k] = to_bf16(k % 2 == 0 ? 16384.0F : 16512.0F);
  }
  for (const Isa isa : available_isas()) {
    for (const NormWalk& walk : kNormWalks) {
      const NormKernel kernel = norm_kernel(isa);
      expect_neighbours_spared(kernel, walk, nan, false);
      expect_neighbours_spared(kernel, walk, infinite, false);
      expect_neighbours_spared(kernel, walk, ones, true);
      expect_neighbours_spared(kernel, walk, tiny, true);
      expect_neighbours_spared(kernel, walk, far, true);
    }
  }
}

TEST(NormKernel, ALargeMeanDoesNotDrownTheVariance) {
  constexpr std::size_t kColumns = 1024;
  const std::vector<float> gamma(kColumns, 1), beta(kColumns, 0);
  for (const Isa isa : available_isas()) {
    std::vector<Bf16> x(kColumns), y(kColumns);
    for (std::size_t k = 0; k < kColumns; ++k) x[k] = to_bf16(k % 2 == 0 ? 16384.0F : 16512.0F);
    std::vector<float> prepared(prepared_norm_floats(kColumns));
    const NormKernel kernel = norm_kernel(isa);
    kernel.prepare(gamma.data(), beta.data(), kColumns, prepared.data());
    kernel.rows(x.data(), 1, kColumns, prepared.data(), Stores::kCached, y.data());
    EXPECT_FLOAT_EQ(to_float(y[0]), -1) << kernel.isa;
    EXPECT_FLOAT_EQ(to_float(y[1]), 1) << kernel.isa;
  }
}

}  // namespace
}  // namespace headroom::native
