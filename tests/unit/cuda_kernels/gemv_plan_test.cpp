// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/gemv_plan.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "headroom/base/error.h"

namespace headroom::cuda {
namespace {

constexpr unsigned kH200 = 132;

TEST(GemvPlan, AThreadHoldsItsPartOfARowInRegisters) {
  EXPECT_EQ(gemv_plan(16384, 16384, kH200, "").name(), "4 rows, 2 vectors");
  EXPECT_EQ(gemv_plan(16384, 16384, kH200, "").team_threads, 512U);
  EXPECT_EQ(gemv_plan(16384, 32768, kH200, "").name(), "2 rows, 4 vectors");
  EXPECT_EQ(gemv_plan(8192, 8192, kH200, "").name(), "4 rows, 1 vector");
  EXPECT_EQ(gemv_plan(8192, 8192, kH200, "2 rows, 2 vectors").team_threads, 256U);
}

TEST(GemvPlan, FewRowsAreSpreadOverAllProcessors) {
  const GemvPlan plan = gemv_plan(1024, 1024, kH200, "");
  EXPECT_EQ(plan.name(), "1 row, 1 vector");
  EXPECT_EQ(plan.team_threads, 64U);
  EXPECT_EQ(plan.blocks, kH200);
  EXPECT_EQ(gemv_plan(3, 1024, kH200, "").blocks, 3U);
}

TEST(GemvPlan, SmallBlocksAreFourTimesAsManyAsRunAtOnce) {
  const GemvPlan plan = gemv_plan(16384, 16384, kH200, "2 rows, 4 vectors, small blocks");
  EXPECT_EQ(plan.threads(), 256U);
  EXPECT_EQ(plan.team_threads, 256U);
  EXPECT_EQ(plan.blocks, 8 * kH200);
  EXPECT_EQ(plan.name(), "2 rows, 4 vectors, small blocks");
  EXPECT_EQ(gemv_plan(100, 16384, kH200, "2 rows, 4 vectors, small blocks").blocks, 100U);
}

TEST(GemvPlan, WhatStartsEarlySaysSo) {
  const GemvPlan plan = gemv_plan(16384, 16384, kH200, "4 rows, 2 vectors, early");
  EXPECT_EQ(plan.start, Start::kEarly);
  EXPECT_EQ(plan.name(), "4 rows, 2 vectors, early");
  const GemvPlan small = gemv_plan(16384, 16384, kH200, "4 rows, 2 vectors, small blocks, early");
  EXPECT_EQ(small.start, Start::kEarly);
  EXPECT_EQ(small.size, GemvBlocks::kSmall);
  EXPECT_EQ(gemv_plan(16384, 16384, kH200, "").start, Start::kBehindOther);
}

TEST(GemvPlan, EachVariantHasANameOfItsOwnThatFindsIt) {
  std::set<std::string> names;
  for (const std::string& name : gemv_variants()) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(gemv_plan(16384, 32768, kH200, name).name(), name);
  }
}

TEST(GemvPlan, OneThreadOfAWarpDoesForAShortRow) {
  EXPECT_EQ(gemv_plan(1, 1, kH200, "").team_threads, 32U);
  EXPECT_EQ(gemv_plan(7, 16, kH200, "4 rows, 2 vectors").team_threads, 32U);
}

TEST(GemvPlan, RowsThatBeginAnywhereHaveOneForm) {
  for (const std::string& variant : gemv_variants()) {
    const GemvPlan plan = gemv_plan(1025, 1025, kH200, variant);
    EXPECT_FALSE(plan.aligned);
    EXPECT_THAT(plan.name(), testing::StartsWith(name_of(kUnalignedForm)));
  }
}

TEST(GemvPlan, ANameThatIsNoneIsAnError) {
  EXPECT_THAT([] { gemv_plan(1024, 1024, kH200, "5 rows"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("5 rows")));
}

}  // namespace
}  // namespace headroom::cuda
