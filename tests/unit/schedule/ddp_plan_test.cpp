// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/ddp_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> labels(const DdpSweep& sweep) {
  std::vector<std::string> labels;
  for (const DdpStep& step : ddp_plan(sweep)) labels.push_back(step.label);
  return labels;
}

TEST(DdpPlan, IsPytorchsSweepAsFarAsTheWorldHasRanks) {
  DdpSweep sweep;
  EXPECT_THAT(labels(sweep), ElementsAre("warm-up", "no ddp", "1M/1G"));
  sweep.world = 6;
  EXPECT_THAT(labels(sweep), ElementsAre("warm-up", "no ddp", "1M/1G", "1M/2G", "1M/4G"));
  sweep.world = 24;
  EXPECT_THAT(labels(sweep),
              ElementsAre("warm-up", "no ddp", "1M/1G", "1M/2G", "1M/4G", "1M/8G", "2M/8G", "3M/8G"));
  EXPECT_EQ(ddp_plan(sweep).back().setup.ranks, 24);
}

TEST(DdpPlan, TakesAListOfRanksInOrder) {
  DdpSweep sweep;
  sweep.world = 4;
  sweep.ranks = {4, 1, 3};
  EXPECT_THAT(labels(sweep), ElementsAre("warm-up", "no ddp", "1 rank", "3 ranks", "4 ranks"));
}

TEST(DdpPlan, RepeatsOnlyWhatReducesForEachBucketSize) {
  DdpSweep sweep;
  sweep.world = 2;
  sweep.ranks = {2};
  sweep.models = {"mlp", "resnet18"};
  sweep.bucket_bytes = {1 << 20, 2 << 20};
  const std::vector<DdpStep> steps = ddp_plan(sweep);
  EXPECT_THAT(labels(sweep), ElementsAre("warm-up", "no ddp", "2 ranks", "2 ranks", "warm-up", "no ddp",
                                         "2 ranks", "2 ranks"));
  EXPECT_TRUE(steps[0].is_warmup && steps[0].setup.each_alone && !steps[0].setup.ddp);
  EXPECT_FALSE(steps[1].setup.ddp || steps[1].setup.each_alone || steps[1].is_warmup);
  EXPECT_EQ(steps[2].setup.bucket_bytes, 1 << 20);
  EXPECT_EQ(steps[3].setup.bucket_bytes, 2 << 20);
  EXPECT_EQ(steps[7].setup.model, "resnet18");
}

TEST(DdpPlan, TracesTheMostRanksOfEachModelAndBucketSize) {
  DdpSweep sweep;
  sweep.world = 4;
  sweep.trace = "/tmp/t";
  std::vector<DdpStep> steps = ddp_plan(sweep);
  EXPECT_EQ(steps.back().trace, "/tmp/t");
  EXPECT_TRUE(steps[steps.size() - 2].trace.empty());
  sweep.models = {"mlp", "resnet18"};
  sweep.bucket_bytes = {1 << 20, 25 << 20};
  steps = ddp_plan(sweep);
  EXPECT_EQ(steps[4].trace, "/tmp/t/mlp-1MiB");
  EXPECT_EQ(steps.back().trace, "/tmp/t/resnet18-25MiB");
}

TEST(DdpPlan, RefusesMoreRanksThanThereAre) {
  DdpSweep sweep;
  sweep.world = 2;
  sweep.ranks = {1, 4};
  EXPECT_THAT(test::message_of([&] { ddp_plan(sweep); }), HasSubstr("4 ranks in a world of 2"));
}

}  // namespace
}  // namespace headroom
