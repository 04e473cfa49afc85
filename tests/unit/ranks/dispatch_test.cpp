// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "../error_message.h"
#include "headroom/ranks/dispatch/dispatch.h"

namespace headroom {
namespace {

using testing::HasSubstr;

using Kind = PlacementText::Kind;

std::string misfit(const DispatchSetup& setup, int ranks) {
  return test::message_of([&] { require_fit(setup, ranks); });
}

TEST(PlacementText, IsReadAsPeopleWriteIt) {
  for (const char* text : {"S(1)", "s1", "Shard(1)", " shard1 "}) {
    EXPECT_EQ(parse_placement(text), (PlacementText{Kind::kShard, 1})) << text;
  }
  EXPECT_EQ(parse_placement("R"), parse_placement("Replicate"));
  EXPECT_EQ(parse_placement("p").kind, Kind::kPartial);
  for (const char* text : {"", "S", "S()", "S(-1)", "S(0", "S(99)", "X"}) {
    EXPECT_THROW(parse_placement(text), Error) << text;
  }
  for (const char* text : {"S(0)", "S(3)", "R", "P"}) EXPECT_EQ(placement_text(parse_placement(text)), text);
}

TEST(DispatchSetup, MustFitTheRanksAndTheShape) {
  DispatchSetup setup;
  EXPECT_EQ(misfit(setup, 4), "nothing was thrown");
  EXPECT_THAT(misfit(setup, 3), HasSubstr("a mesh of 4 has 4 ranks, but there are 3"));
  setup.mesh = {2, 2};
  EXPECT_THAT(misfit(setup, 4), HasSubstr("1 placement(s) (S(0)) for a mesh of 2 dimension(s)"));
  setup.placements = {{Kind::kReplicate}, {Kind::kShard, 2}};
  EXPECT_THAT(misfit(setup, 4),
              HasSubstr("shards dimension 2 of a tensor of shape 512x512, which has dimensions 0 to 1"));
  setup.shape = {2, 2, 2};
  EXPECT_EQ(misfit(setup, 4), "nothing was thrown");
}

TEST(DispatchSetup, SurvivesTheWayThroughAxes) {
  DispatchSetup setup;
  setup.mesh = {2, 3};
  setup.placements = {{Kind::kPartial}, {Kind::kShard, 1}};
  setup.shape = {7, 5};
  setup.dtype = "bf16";
  setup.repeats = 3;
  AxisTexts axes = axes_of(setup);
  const auto value = [&](const std::string& name) {
    for (const auto& [axis, text] : axes) {
      if (axis == name) return text;
    }
    return std::string();
  };
  const DispatchSetup read = dispatch_setup_of(value);
  EXPECT_EQ(std::tie(read.mesh, read.placements, read.shape),
            std::tie(setup.mesh, setup.placements, setup.shape));
  EXPECT_EQ(read.dtype, "bf16");
  EXPECT_EQ(read.repeats, 3);
  for (auto& [axis, text] : axes) {
    const std::string right = std::exchange(text, "x");
    if (axis != "dtype") EXPECT_THROW(dispatch_setup_of(value), Error) << axis;
    text = right;
  }
}

using Verdict = ExpectationVerdict::Kind;

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

Verdict verdict(double us, double half_width) {
  DispatchExpectation expectation;
  expectation.op = "add";
  expectation.metric = "hit";
  expectation.value_us = 10;
  expectation.tolerance = 0.2;
  return judge_expectations({expectation}, {measured("add", "hit", us, half_width)}).front().kind;
}

std::string refusal(const std::string& text) {
  return test::message_of([&] { parse_dispatch_expectations(text, "mine.toml"); });
}

TEST(DispatchExpectations, AreJudgedByTheWholeInterval) {
  EXPECT_EQ(verdict(10, 1), Verdict::kWithin);
  EXPECT_EQ(verdict(11.5, 0.4), Verdict::kWithin);
  EXPECT_EQ(verdict(12, 0.4), Verdict::kInconclusive);
  EXPECT_EQ(verdict(13, 0.4), Verdict::kOutside);
  EXPECT_EQ(verdict(5, 1), Verdict::kFaster);
  Record unsure = measured("add", "hit", 10, 1);
  unsure.interval.reset();
  const DispatchExpectation any{"add", "hit", "", "", "", "", 10, 0.2, ""};
  EXPECT_EQ(judge_expectations({any}, {unsure}).front().kind, Verdict::kInconclusive);
}

TEST(DispatchExpectations, HoldForWhatTheyName) {
  DispatchExpectation expectation{"add", "hit", "2x2", "", "", "", 10, 0.2, ""};
  EXPECT_EQ(judge_expectations({expectation}, {measured("add", "hit", 10, 1)}).front().kind,
            Verdict::kUnmeasured);
  expectation.mesh = "4";
  expectation.dtype = "f32";
  EXPECT_EQ(judge_expectations({expectation}, {measured("add", "hit", 10, 1)}).front().kind,
            Verdict::kWithin);
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
  EXPECT_THAT(refusal("[[expect]]\nop = 3\nmetric = \"hit\"\nus = 1\n"), HasSubstr("mine.toml: line 2"));
  EXPECT_THAT(refusal("[[expect]]\nop = \"add\"\nus = 1\n"), HasSubstr("'metric' is missing"));
  EXPECT_THAT(refusal("[[expect]]\nop = \"add\"\nmetric = \"hit\"\nus = -1\n"),
              HasSubstr("'us' is not a number above 0"));
  EXPECT_THAT(refusal("[expect]\nop = \"add\"\n"), HasSubstr("[[expect]] tables"));
  EXPECT_THAT(refusal("[[expects]]\n"), HasSubstr("'expects'"));
}

}  // namespace
}  // namespace headroom
