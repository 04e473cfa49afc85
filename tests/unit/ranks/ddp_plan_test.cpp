// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> labels(const DdpSweep& sweep) {
  std::vector<std::string> labels;
  for (const DdpStep& step : ddp_steps(sweep, "mlp")) labels.push_back(step.label);
  return labels;
}

TEST(DdpPlan, IsPytorchsSweepAsFarAsTheWorldHasRanks) {
  DdpSweep sweep;
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1M/1G"));
  sweep.world = 6;
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1M/1G", "1M/2G", "1M/4G"));
  sweep.world = 24;
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1M/1G", "1M/2G", "1M/4G", "1M/8G", "2M/8G", "3M/8G"));
  EXPECT_EQ(ddp_steps(sweep, "mlp").back().ranks, 24);
}

TEST(DdpPlan, TakesAListOfRanksInOrder) {
  DdpSweep sweep;
  sweep.world = 4;
  sweep.ranks = {4, 1, 3};
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1 rank", "3 ranks", "4 ranks"));
}

TEST(DdpPlan, RepeatsOnlyWhatReducesForEachBucketSize) {
  DdpSweep sweep;
  sweep.world = 2;
  sweep.ranks = {2};
  sweep.bucket_bytes = {1 << 20, 2 << 20};
  const std::vector<DdpStep> steps = ddp_steps(sweep, "mlp");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_FALSE(steps[0].ddp);
  EXPECT_EQ(steps[0].ranks, 1);
  EXPECT_EQ(steps[1].bucket_bytes, 1 << 20);
  EXPECT_EQ(steps[2].bucket_bytes, 2 << 20);
}

TEST(DdpPlan, LeavesOneRankToAReducerThatWorksAlone) {
  DdpSweep sweep;
  sweep.world = 2;
  sweep.reducer = "c10d";
  EXPECT_THAT(labels(sweep), ElementsAre("no ddp", "1M/2G"));
}

TEST(DdpPlan, TracesTheMostRanksOfEachModelAndBucketSize) {
  DdpSweep sweep;
  sweep.world = 4;
  sweep.trace = "/tmp/t";
  std::vector<DdpStep> steps = ddp_steps(sweep, "mlp");
  EXPECT_EQ(steps.back().trace, "/tmp/t");
  EXPECT_TRUE(steps[steps.size() - 2].trace.empty());
  sweep.models = {"mlp", "resnet18"};
  sweep.bucket_bytes = {1 << 20, 25 << 20};
  steps = ddp_steps(sweep, "mlp");
  EXPECT_EQ(steps[3].trace, "/tmp/t/mlp-1MiB");
  EXPECT_EQ(ddp_steps(sweep, "resnet18").back().trace, "/tmp/t/resnet18-25MiB");
}

TEST(DdpPlan, RefusesMoreRanksThanThereAre) {
  DdpSweep sweep;
  sweep.world = 2;
  sweep.ranks = {1, 4};
  EXPECT_THAT(test::message_of([&] { ddp_steps(sweep, "mlp"); }), HasSubstr("4 ranks in a world of 2"));
}

}  // namespace
}  // namespace headroom
