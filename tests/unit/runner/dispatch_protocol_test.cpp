// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/dispatch_protocol.h"

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

TEST(DispatchMessages, SurviveTheWayThroughJson) {
  DispatchSetup setup;
  setup.mesh = {2, 3};
  setup.placements = {{Kind::kPartial}, {Kind::kShard, 1}};
  setup.shape = {7, 5};
  setup.dtype = "bf16";
  setup.repeats = 3;
  setup.threads = 2;
  setup.seed = 18446744073709551615U;
  setup.backend = "nccl";
  const DispatchSetup read = dispatch_setup_from_json(parse_json(dump_json(to_json(setup)), "a setup"));
  EXPECT_EQ(read.mesh, setup.mesh);
  EXPECT_EQ(read.placements, setup.placements);
  EXPECT_EQ(read.shape, setup.shape);
  EXPECT_EQ(read.dtype, "bf16");
  EXPECT_EQ(read.repeats, 3);
  EXPECT_EQ(read.threads, 2);
  EXPECT_EQ(read.seed, setup.seed);
  EXPECT_EQ(read.backend, "nccl");
  Json unsaid = to_json(setup);
  unsaid.erase("backend");
  EXPECT_EQ(dispatch_setup_from_json(unsaid).backend, "gloo");

  const RankHello hello{
      3,          4,   99,    "libtorch 2.1", "why not", {{"add", "a + a", true}}, {{"mlp", "layers", false}},
      "--seed 1", "a", {3, 5}};
  const RankHello said = rank_hello_from_json(parse_json(dump_json(to_json(hello)), "a hello"));
  EXPECT_EQ(said.rank, 3);
  EXPECT_EQ(said.library, hello.library);
  EXPECT_EQ(said.ops.front().name, "add");
  EXPECT_TRUE(said.ops.front().by_default);
  EXPECT_EQ(said.models.front().name, "mlp");
  EXPECT_EQ(said.arguments, "--seed 1");
  EXPECT_EQ(said.host, "a");
  EXPECT_EQ(said.cores, hello.cores);

  const DispatchCycles cycles{{}, {1}, {2, 3}, {4}};
  EXPECT_EQ(dispatch_cycles_from_json(to_json(cycles)).miss_ns, cycles.miss_ns);
  DispatchDetails details;
  details.hit["key"] = {1, 2};
  details.cache_misses = 7;
  details.instructions["hit"] = 8000;
  const DispatchDetails told = dispatch_details_from_json(parse_json(dump_json(to_json(details)), "details"));
  EXPECT_EQ(told.hit, details.hit);
  EXPECT_EQ(told.cache_misses, 7U);
  EXPECT_EQ(told.instructions, details.instructions);
}

TEST(DispatchMessages, NonsenseIsAnErrorThatNamesIt) {
  EXPECT_THROW(rank_hello_from_json(Json::object()), Error);
  EXPECT_THROW(dispatch_cycles_from_json(Json{{"plain_ns", {"x"}}}), Error);
  Json setup = to_json(DispatchSetup{});
  setup["mesh"] = {1.5};
  EXPECT_THROW(dispatch_setup_from_json(setup), Error);
}

}  // namespace
}  // namespace headroom
