// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/sum_tolerance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "headroom/experiment/random.h"
#include "scripted_source.h"

namespace headroom {
namespace {

constexpr Tolerance kExact{.relative = 1.25 * 0x1p-8};

/// y = W x with W[rows, columns] and x of bf16, as a gemv of ours has it.
struct Product {
  std::size_t rows, columns;
  std::vector<Bf16> weights, x;

  Product(std::size_t of_rows, std::size_t of_columns, std::uint64_t seed = 1)
      : rows(of_rows), columns(of_columns), weights(rows * columns), x(columns) {
    fill_random(std::span(weights), seed);
    fill_random(std::span(x), seed + 1);
  }
  double weight(std::size_t row, std::size_t column) const {
    return to_float(weights[row * columns + column]);
  }
  std::vector<double> exact() const {
    std::vector<double> y(rows, 0);
    for (std::size_t i = 0; i < rows * columns; ++i)
      y[i / columns] += weight(i / columns, i % columns) * to_float(x[i % columns]);
    return y;
  }
  /// Each product and each sum rounded to bf16, in `lanes` sums; columns from `end` on are left out.
  std::vector<Bf16> in_bf16(std::size_t lanes, std::size_t end) const {
    std::vector<Bf16> y(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> sums(lanes, 0);
      for (std::size_t k = 0; k < end; ++k) {
        const float term = rounded(static_cast<float>(weight(row, k)) * to_float(x[k]));
        sums[k % lanes] = rounded(sums[k % lanes] + term);
      }
      float sum = 0;
      for (const float part : sums) sum = rounded(sum + part);
      y[row] = to_bf16(sum);
    }
    return y;
  }
  std::vector<Bf16> in_bf16(std::size_t lanes = 1) const { return in_bf16(lanes, columns); }

 private:
  static float rounded(float value) { return to_float(to_bf16(value)); }
};

Tolerance bf16_of(const Product& product) {
  return tolerance_of_sums(kExact, Precision::kBf16, {product.columns}, product.rows);
}

/// Why the answer is wrong, or "right".
std::string verdict(const std::vector<Bf16>& answer, const std::vector<double>& expected, Tolerance tolerance,
                    CaseInfo* info = nullptr) {
  ScriptedSource source;
  SharedObjects shared;
  State state{CaseSpec{}, source, shared};
  std::vector<Bf16> output(answer.size());
  try {
    state.verify([&] { output = answer; }, std::span(output), expected, tolerance);
  } catch (const WrongAnswer& wrong) {
    return wrong.reason;
  }
  state.measure([] {});
  if (info != nullptr) *info = source.infos.at(0);
  return "right";
}

TEST(SumTolerance, SumsInF32AndF64AreAllowedNoMore) {
  for (const Precision precision : {Precision::kF32, Precision::kF64}) {
    const Tolerance tolerance = tolerance_of_sums(kExact, precision, {16384}, 16384);
    EXPECT_EQ(tolerance.relative, kExact.relative);
    EXPECT_EQ(tolerance.root_mean_square, kExact.root_mean_square);
    EXPECT_EQ(tolerance.sums_in, precision);
  }
}

TEST(SumTolerance, GrowsWithTheRootOfTheTermsAndTheRoundoff) {
  const auto more = [](Precision precision, std::size_t terms) {
    return tolerance_of_sums(kExact, precision, {terms}, 1024).relative - kExact.relative;
  };
  EXPECT_DOUBLE_EQ(more(Precision::kBf16, 1024), 2 * 32 * 0x1p-8);
  EXPECT_DOUBLE_EQ(more(Precision::kBf16, 4096), 2 * more(Precision::kBf16, 1024));
  EXPECT_DOUBLE_EQ(more(Precision::kF16, 1024), more(Precision::kBf16, 1024) / 8);
  const Tolerance two = tolerance_of_sums(kExact, Precision::kBf16, {1024, 4096}, 1024);
  EXPECT_DOUBLE_EQ(two.relative, kExact.relative + 2 * 96 * 0x1p-8);
}

TEST(SumTolerance, HoldsForSumsInBf16AndNotForF32s) {
  for (const std::size_t columns : {64U, 256U, 1024U, 4096U}) {
    for (const std::size_t lanes : {1U, 16U}) {
      SCOPED_TRACE(columns);
      const Product product(256, columns, columns + lanes);
      CaseInfo info;
      EXPECT_EQ(verdict(product.in_bf16(lanes), product.exact(), bf16_of(product), &info), "right");
      EXPECT_EQ(info.sums_in, Precision::kBf16);
      EXPECT_LE(info.max_error, info.tolerance);
      // Not so wide that it says nothing: with one sum a fifth of what is allowed is really lost.
      if (lanes == 1) EXPECT_GT(info.max_error, info.tolerance / 5);
      EXPECT_NE(verdict(product.in_bf16(lanes), product.exact(), kExact), "right");
    }
  }
}

/// Each makes an answer that is summed in bf16 wrong.
struct Fault {
  const char* name;
  std::function<std::vector<Bf16>(const Product&)> answer;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all{
      {"an element twice",
       [](const Product& product) {
         std::vector<Bf16> y = product.in_bf16();
         const auto exact = product.exact();
         const auto largest = std::ranges::max_element(exact) - exact.begin();
         y[static_cast<std::size_t>(largest)] = y[static_cast<std::size_t>(largest + 1) % y.size()];
         return y;
       }},
      {"rows in the wrong order",
       [](const Product& product) {
         std::vector<Bf16> y = product.in_bf16();
         std::ranges::reverse(y);
         return y;
       }},
      {"the scale of the next row",
       [](const Product& product) {
         std::vector<Bf16> y = product.in_bf16();
         for (std::size_t i = 0; i < y.size(); ++i)
           y[i] = to_bf16(to_float(y[i]) * (i % 2 == 0 ? 2.0F : 0.5F));
         return y;
       }},
      {"a transposed matrix",
       [](const Product& product) {
         Product transposed = product;
         for (std::size_t i = 0; i < product.rows; ++i)
           for (std::size_t k = 0; k < product.columns; ++k)
             transposed.weights[i * product.columns + k] = product.weights[k * product.columns + i];
         return transposed.in_bf16();
       }},
      {"an eighth of the columns left out",
       [](const Product& product) { return product.in_bf16(1, product.columns * 7 / 8); }},
      {"zeros in the last rows", [](const Product& product) {
         std::vector<Bf16> y = product.in_bf16();
         std::fill(y.end() - 16, y.end(), to_bf16(0.0F));
         return y;
       }}};
  return all;
}

TEST(SumTolerance, PlantedErrorsAreFoundInSumsInBf16) {
  for (const std::size_t size : {64U, 256U, 512U}) {
    const Product product(size, size);
    for (const Fault& fault : faults()) {
      SCOPED_TRACE(std::string(fault.name) + " of " + std::to_string(size));
      EXPECT_NE(verdict(fault.answer(product), product.exact(), bf16_of(product)), "right");
    }
  }
}

TEST(SumTolerance, ASkippedColumnIsFoundInSumsInF32) {
  const Product product(256, 1024);
  std::vector<double> skipped = product.exact();
  for (std::size_t row = 0; row < product.rows; ++row)
    skipped[row] -= product.weight(row, 1023) * to_float(product.x[1023]);
  std::vector<Bf16> y;
  for (const double value : skipped) y.push_back(to_bf16(static_cast<float>(value)));
  EXPECT_NE(verdict(y, product.exact(), kExact), "right");
}

TEST(SumTolerance, ManyErrorsThatHideOneByOneAreFoundTogether) {
  // Of 16384 terms in bf16 a value may be its own size off: all of them may not.
  std::vector<double> expected(4096);
  fill_random(std::span(expected), 1);
  std::vector<Bf16> y;
  for (std::size_t i = 0; i < expected.size(); ++i)
    y.push_back(to_bf16(static_cast<float>(expected[i] + (i % 2 == 0 ? 0.5 : -0.5))));
  const Tolerance tolerance = tolerance_of_sums(kExact, Precision::kBf16, {16384}, expected.size());
  EXPECT_GT(tolerance.relative, 1);
  const std::string reason = verdict(y, expected, tolerance);
  EXPECT_THAT(reason, testing::HasSubstr("the errors of all 4096 values have a root mean square of 0.5"));
  EXPECT_THAT(reason, testing::HasSubstr("for sums in bf16"));
}

}  // namespace
}  // namespace headroom
