// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "headroom/experiment/random.h"
#include "headroom/experiment/sum_tolerance.h"
#include "scripted_source.h"

namespace headroom {
namespace {

using namespace testing;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Verify : public testing::Test {
 protected:
  template <typename T>
  std::string verdict(const std::vector<T>& actual, const std::vector<double>& expected,
                      Tolerance tolerance = {}) {
    std::vector<T> output(actual.size());
    try {
      state.verify([&] { std::copy(actual.begin(), actual.end(), output.begin()); }, std::span<T>(output),
                   expected, tolerance);
    } catch (const WrongAnswer& wrong) {
      return wrong.reason;
    }
    return "right";
  }
  CaseInfo info() {
    state.measure([] {});
    return source.infos.at(0);
  }

  ScriptedSource source;
  SharedObjects shared;
  State state{CaseSpec{}, source, shared};
};

TEST_F(Verify, TheRightAnswerIsMarkedWithItsError) {
  EXPECT_EQ(verdict<double>({1, 2.0002, 3}, {1, 2, 3}, {1e-3, 0}), "right");
  const CaseInfo said = info();
  EXPECT_TRUE(said.verified);
  EXPECT_EQ(said.tolerance, 1e-3);
  // 0.0002 / root mean square of 1, 2, 3.
  EXPECT_NEAR(said.max_error, 0.0002 / std::sqrt(14.0 / 3), 1e-9);
}

TEST_F(Verify, AWrongValueIsNamedWithItsIndex) {
  EXPECT_THAT(verdict<float>({1, 2, 4, 5}, {1, 2, 3, 5}),
              AllOf(HasSubstr("index 2 of 4"), HasSubstr(": 4,"), HasSubstr("reference is 3")));
  EXPECT_FALSE(info().verified);
}

TEST_F(Verify, TheToleranceScalesWithTheSizeOfTheTerms) {
  // 0.01 off among values of 1000: the rounding error of a sum.
  EXPECT_EQ(verdict<double>({1000, 0.005, -1000}, {1000, 0, -1000}, {1e-5, 0}), "right");
  EXPECT_THAT(verdict<double>({1000, 0.05, -1000}, {1000, 0, -1000}, {1e-5, 0}), HasSubstr("index 1"));
}

TEST_F(Verify, AnAbsoluteToleranceIsInAdditionToIt) {
  EXPECT_THAT(verdict<double>({0.25}, {0}), HasSubstr("index 0"));
  EXPECT_EQ(verdict<double>({0.25}, {0}, {1e-5, 0.25}), "right");
}

TEST_F(Verify, NanIsRightOnlyWhereTheReferenceHasOne) {
  EXPECT_EQ(verdict<double>({1, kNan}, {1, kNan}), "right");
  EXPECT_THAT(verdict<double>({1, kNan}, {1, 2}, {1e9, 1e9}), AllOf(HasSubstr("index 1"), HasSubstr("nan")));
  EXPECT_THAT(verdict<double>({1, 2}, {1, kNan}, {1e9, 1e9}), HasSubstr("index 1"));
}

TEST_F(Verify, InfinitiesMustAgree) {
  EXPECT_EQ(verdict<double>({1, kInfinity}, {1, kInfinity}), "right");
  EXPECT_THAT(verdict<double>({1, -kInfinity}, {1, kInfinity}), HasSubstr("index 1"));
  EXPECT_THAT(verdict<double>({1, kInfinity}, {1, 2}), HasSubstr("index 1"));
}

TEST_F(Verify, Bf16IsComparedAsTheNumberItHolds) {
  EXPECT_EQ(verdict<Bf16>({to_bf16(1.0F), to_bf16(3.14159F)}, {1, 3.14159}, {1e-2, 0}), "right");
  EXPECT_THAT(verdict<Bf16>({to_bf16(1.0F), to_bf16(3.2F)}, {1, 3.14159}, {1e-2, 0}), HasSubstr("index 1"));
}

TEST_F(Verify, ALengthThatDiffersIsWrong) {
  EXPECT_THAT(verdict<float>({1, 2}, {1, 2, 3}), HasSubstr("2 values, the reference 3"));
}

TEST_F(Verify, ThePrecisionThatATolerancesIsForIsSaid) {
  EXPECT_THAT(verdict<float>({1, 3}, {1, 2}), HasSubstr("for sums in f32"));
  EXPECT_EQ(verdict<float>({1, 2}, {1, 2}), "right");
  EXPECT_EQ(verdict<float>({1, 2}, {1, 2}, {.relative = 0.5, .sums_in = Precision::kBf16}), "right");
  EXPECT_EQ(verdict<float>({1, 2}, {1, 2}, {.sums_in = std::nullopt}), "right");
  EXPECT_EQ(info().sums_in, Precision::kBf16) << "the coarsest of those of a case";
}

TEST_F(Verify, WhereNobodyKnowsThePrecisionNoneIsSaid) {
  EXPECT_EQ(verdict<float>({1, 2}, {1, 2}, {.sums_in = std::nullopt}), "right");
  EXPECT_FALSE(info().sums_in);
}

TEST(VerifyKeepWrong, AWrongAnswerGoesOnToBeMeasuredWithItsReasonAndLargestError) {
  ScriptedSource source;
  SharedObjects shared;
  CaseSpec spec;
  spec.keep_wrong = true;
  State state{spec, source, shared};
  std::vector<float> output(3);
  const std::vector<double> expected{1, 1, 1};
  state.verify([&] { output = {1, 2, 4}; }, std::span(output), expected, {});
  state.measure([] {});
  const CaseInfo& info = source.infos.at(0);
  EXPECT_THAT(info.wrong, HasSubstr("index 1 of 3"));
  EXPECT_FALSE(info.verified);
  EXPECT_EQ(info.max_error, 3);
}

TEST_F(Verify, AnOutputThatIsNotWrittenFailsEvenIfItHeldTheAnswer) {
  const std::vector<double> expected{1, 2};
  const auto refuses = [&](auto output) {
    EXPECT_THROW(state.verify([] {}, std::span(output), expected, {1e9, 1e9}), WrongAnswer);
  };
  refuses(std::vector<float>{1, 2});
  refuses(std::vector<double>{1, 2});
  refuses(std::vector<Bf16>{to_bf16(1.0F), to_bf16(2.0F)});
}

/// Counts calls of `run(call, output)` from 1.
std::string verdict_after_samples(std::size_t values,
                                  const std::function<void(int, std::vector<float>&)>& run,
                                  bool concludes = true) {
  ScriptedSource source{{{10, 0}}};
  source.concludes = concludes;
  SharedObjects shared;
  State state{CaseSpec{}, source, shared};
  std::vector<float> output(values);
  int calls = 0;
  const auto body = [&] { run(++calls, output); };
  // Temporary: `expected` need not live on.
  state.verify(body, std::span(output), std::vector<double>(values, 3), {.relative = 0.1});
  try {
    state.measure(body);
  } catch (const WrongAnswer& wrong) {
    return wrong.reason;
  }
  EXPECT_EQ(source.samples.size(), 1U);
  EXPECT_EQ(calls, concludes ? 12 : 11);
  return "right";
}

TEST(VerifyAfterSamples, AnOutputThatIsNotWrittenAnyMoreIsWrong) {
  const auto writes_until = [](int last) {
    return [last](int call, std::vector<float>& output) {
      if (call <= last) std::ranges::fill(output, 3.0F);
    };
  };
  EXPECT_THAT(verdict_after_samples(4, writes_until(1)),
              AllOf(HasSubstr("after its samples: wrong answer at index 0 of 4"), HasSubstr("nan")));
  EXPECT_THAT(verdict_after_samples(4, writes_until(11)), HasSubstr("after its samples"));
  EXPECT_EQ(verdict_after_samples(4, writes_until(12)), "right");
}

TEST(VerifyAfterSamples, NoiseWithinTheToleranceIsRight) {
  const auto drifts = [](int call, auto& output) { output.assign(4, 3 + 0.02F * static_cast<float>(call)); };
  EXPECT_EQ(verdict_after_samples(4, drifts), "right");
}

TEST(VerifyAfterSamples, ACaseThatIsReleasedEarlyIsNotCalledAgain) {
  const auto stops = [](int call, auto& output) { output.assign(4, call == 1 ? 3.0F : 0.0F); };
  EXPECT_EQ(verdict_after_samples(4, stops, false), "right");
  EXPECT_NE(verdict_after_samples(4, stops), "right");
}

TEST(VerifyAfterSamples, OneRowOfManyThatIsLeftOutIsFound) {
  constexpr std::size_t kColumns = 16, kRows = std::size_t{3} << 16;
  EXPECT_EQ(
      verdict_after_samples(kRows * kColumns, [](int, auto& output) { std::ranges::fill(output, 3.0F); }),
      "right");
  for (const std::size_t left_out : {std::size_t{0}, kRows / 2, kRows - 1}) {
    EXPECT_THAT(verdict_after_samples(kRows * kColumns,
                                      [&](int call, auto& output) {
                                        for (std::size_t i = 0; i < output.size(); ++i) {
                                          if (call == 1 || i / kColumns != left_out) output[i] = 3.0F;
                                        }
                                      }),
                AllOf(HasSubstr("of 3145728:"), HasSubstr("nan")));
  }
}

TEST(VerifyAfterSamples, AWrongAnswerThatIsKeptIsToldAtTheEnd) {
  ScriptedSource source{{{1, 0}}};
  source.concludes = true;
  SharedObjects shared;
  CaseSpec spec;
  spec.keep_wrong = true;
  State state{spec, source, shared};
  std::vector<float> output(1);
  int calls = 0;
  state.verify([&] { output[0] = static_cast<float>(++calls); }, std::span(output), std::vector<double>{1},
               {});
  state.measure([] {});
  EXPECT_EQ(source.infos.at(0).wrong, "");
  EXPECT_THAT(state.conclusion().wrong, HasSubstr("after its samples: wrong answer at index 0 of 1: 2"));
}

TEST_F(Verify, ValuesThatWereComputedAlreadyAreHeldToTheSame) {
  const std::vector<float> actual{1, 2};
  const std::vector<double> right{1, 2}, wrong{1, 3};
  state.check(std::span<const float>(actual), right, {});
  EXPECT_THROW(state.check(std::span<const float>(actual), wrong, {}), WrongAnswer);
  EXPECT_THROW(state.check(std::span<const float>(actual), std::vector<double>{1}, {}), WrongAnswer);
}

constexpr Tolerance kExact{.relative = 1.25 * 0x1p-8};

/// y = W x with W[rows, columns] and x of bf16.
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
  /// Rounds products and sums to bf16, in `lanes` partial sums; omits columns from `end` on.
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
      // Not too wide: one sum uses a fifth.
      if (lanes == 1) EXPECT_GT(info.max_error, info.tolerance / 5);
      EXPECT_NE(verdict(product.in_bf16(lanes), product.exact(), kExact), "right");
    }
  }
}

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
  // With 16384 terms one value may be off by its size, not all.
  std::vector<double> expected(4096);
  fill_random(std::span(expected), 1);
  std::vector<Bf16> y;
  for (std::size_t i = 0; i < expected.size(); ++i)
    y.push_back(to_bf16(static_cast<float>(expected[i] + (i % 2 == 0 ? 0.5 : -0.5))));
  const Tolerance tolerance = tolerance_of_sums(kExact, Precision::kBf16, {16384}, expected.size());
  EXPECT_GT(tolerance.relative, 1);
  const std::string reason = verdict(y, expected, tolerance);
  EXPECT_THAT(reason, HasSubstr("the root mean square error of all 4096 values is 0.5"));
  EXPECT_THAT(reason, HasSubstr("for sums in bf16"));
}

}  // namespace
}  // namespace headroom
