// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "scripted_source.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Verify : public testing::Test {
 protected:
  /// Verifies a run that writes `actual`; why it was wrong, or "right".
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
  // 0.0002 over the root mean square of 1, 2, 3, which is larger than 2.
  EXPECT_NEAR(said.max_error, 0.0002 / std::sqrt(14.0 / 3), 1e-9);
}

TEST_F(Verify, AWrongValueIsNamedWithItsIndex) {
  EXPECT_THAT(verdict<float>({1, 2, 4, 5}, {1, 2, 3, 5}),
              AllOf(HasSubstr("index 2 of 4"), HasSubstr(": 4,"), HasSubstr("reference is 3")));
  EXPECT_FALSE(info().verified);
}

TEST_F(Verify, TheToleranceScalesWithTheSizeOfTheTerms) {
  // 0.01 off a value of 0, among values of 1000: a rounding error of a sum, not a wrong answer.
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

TEST_F(Verify, ValuesThatWereComputedAlreadyAreHeldToTheSame) {
  const std::vector<float> actual{1, 2};
  const std::vector<double> right{1, 2}, wrong{1, 3};
  state.check(std::span<const float>(actual), right, {});
  EXPECT_THROW(state.check(std::span<const float>(actual), wrong, {}), WrongAnswer);
  EXPECT_THROW(state.check(std::span<const float>(actual), std::vector<double>{1}, {}), WrongAnswer);
}

}  // namespace
}  // namespace headroom
