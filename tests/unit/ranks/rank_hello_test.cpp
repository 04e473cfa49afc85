// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_hello.h"

#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

TEST(RankHello, SurvivesTheWayThroughJson) {
  const RankHello hello{3, 4, 99, "libtorch 2.1", "why not", "--seed 1", "a", {3, 5}};
  const RankHello said = rank_hello_from_json(parse_json(dump_json(to_json(hello)), "a hello"));
  EXPECT_EQ(said.rank, 3);
  EXPECT_EQ(said.library, hello.library);
  EXPECT_EQ(said.arguments, "--seed 1");
  EXPECT_EQ(said.host, "a");
  EXPECT_EQ(said.cores, hello.cores);
}

TEST(RankHello, NonsenseIsAnErrorThatNamesIt) {
  EXPECT_THROW(rank_hello_from_json(Json::object()), Error);
}

}  // namespace
}  // namespace headroom
