// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch_expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using Kind = ExpectationVerdict::Kind;

Record measured(const std::string& op, const std::string& metric, double us, double half_width) {
  Record record;
  record.model.name = op;
  record.metric.name = metric;
  record.metric.unit = "us";
  record.metric.value = us;
  record.interval = Interval{us - half_width, us + half_width};
  record.axes = {{"mesh", "4"}, {"placements", "S(0)"}, {"shape", "512x512"}, {"dtype", "f32"}};
  record.samples.push_back({1, 1, 0, {us}, {0}, {}});
  return record;
}

Kind verdict(double us, double half_width) {
  DispatchExpectation expectation;
  expectation.op = "add";
  expectation.metric = "hit";
  expectation.value_us = 10;
  expectation.tolerance = 0.2;
  return judge_expectations({expectation}, {measured("add", "hit", us, half_width)}).front().kind;
}

std::string refusal(const std::string& text) {
  try {
    parse_dispatch_expectations(text, "mine.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DispatchExpectations, AreJudgedByTheWholeInterval) {
  EXPECT_EQ(verdict(10, 1), Kind::kWithin);
  EXPECT_EQ(verdict(11.5, 0.4), Kind::kWithin);
  EXPECT_EQ(verdict(12, 0.4), Kind::kUnclear);
  EXPECT_EQ(verdict(13, 0.4), Kind::kOutside);
  EXPECT_EQ(verdict(5, 1), Kind::kFaster);
  Record unsure = measured("add", "hit", 10, 1);
  unsure.interval.reset();
  const DispatchExpectation any{"add", "hit", "", "", "", "", 10, 0.2, ""};
  EXPECT_EQ(judge_expectations({any}, {unsure}).front().kind, Kind::kUnclear);
}

TEST(DispatchExpectations, HoldForWhatTheyName) {
  DispatchExpectation expectation{"add", "hit", "2x2", "", "", "", 10, 0.2, ""};
  EXPECT_EQ(judge_expectations({expectation}, {measured("add", "hit", 10, 1)}).front().kind,
            Kind::kUnmeasured);
  expectation.mesh = "4";
  expectation.dtype = "f32";
  EXPECT_EQ(judge_expectations({expectation}, {measured("add", "hit", 10, 1)}).front().kind, Kind::kWithin);
}

TEST(DispatchExpectations, TheShippedOnesAreThoseOfPyTorchsTest) {
  const auto shipped = pytorch_dispatch_expectations();
  ASSERT_EQ(shipped.size(), 2U);
  EXPECT_EQ(shipped[0].metric, "propagation");
  EXPECT_EQ(shipped[0].value_us, 880);
  EXPECT_EQ(shipped[1].metric, "hit");
  EXPECT_EQ(shipped[1].value_us, 90);
  EXPECT_EQ(shipped[1].tolerance, 0.2);
}

TEST(DispatchExpectations, UpdatingKeepsTolerancesAndAddsWhatIsNew) {
  DispatchExpectation expectation{"add", "hit", "4", "", "", "", 10, 0.5, "a \"note\""};
  const auto updated = updated_expectations(
      {expectation},
      {measured("add", "hit", 7, 1), measured("add", "propagation", 3, 1), measured("add", "plain", 2, 1)});
  ASSERT_EQ(updated.size(), 2U);
  EXPECT_EQ(updated[0].value_us, 7);
  EXPECT_EQ(updated[0].tolerance, 0.5);
  EXPECT_EQ(updated[1].metric, "propagation");
  const auto read = parse_dispatch_expectations(dispatch_expectations_toml(updated), "mine.toml");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].note, expectation.note);
  EXPECT_EQ(read[0].value_us, 7);
  EXPECT_EQ(read[1].shape, "512x512");
}

TEST(DispatchExpectations, AFileThatIsNoneIsRefusedByLine) {
  EXPECT_THAT(refusal("[[expect]]\nop = 3\nmetric = \"hit\"\nus = 1\n"),
              testing::HasSubstr("mine.toml: line 2"));
  EXPECT_THAT(refusal("[[expect]]\nop = \"add\"\nus = 1\n"), testing::HasSubstr("'metric' is missing"));
  EXPECT_THAT(refusal("[[expect]]\nop = \"add\"\nmetric = \"hit\"\nus = -1\n"),
              testing::HasSubstr("'us' is not a number above 0"));
  EXPECT_THAT(refusal("[expect]\nop = \"add\"\n"), testing::HasSubstr("[[expect]] tables"));
  EXPECT_THAT(refusal("[[expects]]\n"), testing::HasSubstr("'expects'"));
}

}  // namespace
}  // namespace headroom
