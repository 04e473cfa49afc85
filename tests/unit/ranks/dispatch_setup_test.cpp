// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using Kind = PlacementText::Kind;

std::string misfit(const DispatchSetup& setup, int ranks) {
  try {
    require_fit(setup, ranks);
  } catch (const Error& error) {
    return error.what();
  }
  return "fits";
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
  EXPECT_EQ(misfit(setup, 4), "fits");
  EXPECT_THAT(misfit(setup, 3), HasSubstr("a mesh of 4 has 4 ranks, but there are 3"));
  setup.mesh = {2, 2};
  EXPECT_THAT(misfit(setup, 4), HasSubstr("1 placement(s) (S(0)) for a mesh of 2 dimension(s)"));
  setup.placements = {{Kind::kReplicate}, {Kind::kShard, 2}};
  EXPECT_THAT(misfit(setup, 4),
              HasSubstr("shards dimension 2 of a tensor of shape 512x512, which has dimensions 0 to 1"));
  setup.shape = {2, 2, 2};
  EXPECT_EQ(misfit(setup, 4), "fits");
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
  EXPECT_EQ(read.mesh, setup.mesh);
  EXPECT_EQ(read.placements, setup.placements);
  EXPECT_EQ(read.shape, setup.shape);
  EXPECT_EQ(read.dtype, "bf16");
  EXPECT_EQ(read.repeats, 3);
  for (auto& [axis, text] : axes) {
    const std::string right = std::exchange(text, "x");
    if (axis != "dtype") EXPECT_THROW(dispatch_setup_of(value), Error) << axis;
    text = right;
  }
}

}  // namespace
}  // namespace headroom
