// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/ddp_protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headroom/base/error.h"

namespace headroom {
namespace {

TEST(DdpProtocol, KeepsWhatItCarries) {
  DdpSetup setup;
  setup.model = "mlp";
  setup.batch_size = 7;
  setup.image_size = 32;
  setup.bucket_bytes = 1234;
  setup.ranks = 3;
  setup.ddp = false;
  setup.each_alone = true;
  setup.seed = 99;
  setup.backend = "nccl";
  EXPECT_EQ(to_json(ddp_setup_from_json(to_json(setup))), to_json(setup));

  DdpRounds rounds;
  rounds.iteration_ns = {1, 2};
  rounds.alone_ns = {3, 4};
  rounds.hidden_ns = {5, 6};
  rounds.buckets = {{4096, 3, {7, 8}, {9, 10}}};
  const DdpRounds read = ddp_rounds_from_json(to_json(rounds));
  EXPECT_EQ(to_json(read), to_json(rounds));
  EXPECT_EQ(read.buckets[0].tensors, 3);

  DdpReady ready;
  ready.parameters = 11'689'512;
  ready.takes_images = true;
  ready.layout = "abc";
  ready.need_bytes = 1LL << 40;
  EXPECT_TRUE(ddp_ready_from_json(to_json(ready)).takes_images);
  EXPECT_EQ(to_json(ddp_ready_from_json(to_json(ready))), to_json(ready));
}

TEST(DdpProtocol, AnIdleRankSaysNothingElse) {
  const Json idle = {{"idle", true}};
  EXPECT_TRUE(ddp_ready_from_json(idle).idle);
  EXPECT_TRUE(ddp_rounds_from_json(idle).idle);
  EXPECT_TRUE(ddp_agreement_from_json(idle).idle);
  EXPECT_TRUE(ddp_reductions_from_json(idle).empty());
}

TEST(DdpProtocol, ALossThatIsNoNumberIsNoError) {
  DdpAgreement agreement;
  agreement.parameters = "f00";
  agreement.unused = {"head.bias"};
  agreement.loss = std::numeric_limits<double>::quiet_NaN();
  const DdpAgreement read = ddp_agreement_from_json(parse_json(dump_json(to_json(agreement)), "test"));
  EXPECT_TRUE(std::isnan(read.loss));
  EXPECT_EQ(read.unused, agreement.unused);
}

TEST(DdpProtocol, RefusesWhatMakesNoSense) {
  Json json = to_json(DdpSetup{});
  json["ranks"] = 0;
  EXPECT_THROW(ddp_setup_from_json(json), Error);
  EXPECT_THROW(ddp_rounds_from_json({{"iteration_ns", "fast"}}), Error);
  EXPECT_THROW(ddp_reductions_from_json({{"ns", {"fast"}}}), Error);
}

}  // namespace
}  // namespace headroom
