// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/collectives_protocol.h"

#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

TEST(CollectivesProtocol, WhatIsAskedForArrives) {
  const CollectiveSetup setup =
      collective_setup_from_json(to_json(CollectiveSetup{"broadcast", 4096, "i64", 3, 17}));
  EXPECT_EQ(setup.op, "broadcast");
  EXPECT_EQ(setup.bytes, 4096);
  EXPECT_EQ(setup.dtype, "i64");
  EXPECT_EQ(setup.ranks, 3);
  EXPECT_EQ(setup.seed, 17U);
  Json json = to_json(CollectiveSetup{});
  json["bytes"] = 0;
  EXPECT_THROW(collective_setup_from_json(json), Error);
  EXPECT_THROW(collective_setup_from_json(Json{{"op", "broadcast"}}), Error);
}

TEST(CollectivesProtocol, WhatIsAnsweredArrives) {
  const CollectiveReady ready =
      collective_ready_from_json(to_json(CollectiveReady{false, 1020, "a and b", "no"}));
  EXPECT_EQ(ready.bytes, 1020);
  EXPECT_EQ(ready.how, "a and b");
  EXPECT_EQ(ready.skipped, "no");
  const CollectiveSamples samples =
      collective_samples_from_json(to_json(CollectiveSamples{false, {1, 2.5}, "element 3"}));
  EXPECT_EQ(samples.ns, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(samples.wrong, "element 3");
  EXPECT_THROW(collective_samples_from_json(Json{{"ns", {"x"}}, {"wrong", ""}}), Error);
}

TEST(CollectivesProtocol, RanksThatTakeNoPartSaySo) {
  EXPECT_TRUE(collective_ready_from_json(to_json(CollectiveReady{true, 0, "", ""})).idle);
  EXPECT_TRUE(collective_samples_from_json(to_json(CollectiveSamples{true, {}, ""})).idle);
}

}  // namespace
}  // namespace headroom
