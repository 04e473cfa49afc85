// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "headroom/base/error.h"
#include "headroom_cuda/kernels/kernel_plan.h"

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
  EXPECT_EQ(gemv_plan(16384, 16384, kH200, "").start, Start::kAfterPrevious);
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

TEST(NormPlan, RowsOfTheSeedAreHeldInRegisters) {
  const NormPlan wide = norm_plan(4096, 16384, kH200, "");
  EXPECT_EQ(wide.name(), "4 vectors");
  EXPECT_EQ(wide.threads, 512U);
  EXPECT_EQ(wide.blocks, kH200);
  const NormPlan narrow = norm_plan(4096, 1024, kH200, "");
  EXPECT_EQ(narrow.threads, 32U);
  EXPECT_EQ(narrow.blocks, 16 * kH200);
}

TEST(NormPlan, FewerVectorsTakeMoreThreads) {
  EXPECT_EQ(norm_plan(4096, 4096, kH200, "1 vector").threads, 512U);
  EXPECT_EQ(norm_plan(4096, 4096, kH200, "2 vectors").threads, 256U);
  EXPECT_EQ(norm_plan(4096, 4096, kH200, "2 vectors").blocks, 3 * kH200);
}

TEST(NormPlan, WhatDoesNotFitHasAnotherName) {
  EXPECT_EQ(norm_plan(4096, 8192, kH200, "1 vector").name(), "4 vectors");
  EXPECT_EQ(norm_plan(4096, 16385, kH200, "4 vectors").name(), "long rows");
  EXPECT_FALSE(norm_plan(4096, 16385, kH200, "").aligned);
  EXPECT_EQ(norm_plan(4096, 1025, kH200, "4 vectors").name(), "2 vectors");
}

TEST(NormPlan, OnlyRowsInRegistersThatAreAlignedStartEarly) {
  EXPECT_EQ(norm_plan(4096, 4096, kH200, "4 vectors, early").name(), "4 vectors, early");
  EXPECT_EQ(norm_plan(4096, 4096, kH200, "4 vectors, early").start, Start::kEarly);
  EXPECT_EQ(norm_plan(4096, 4096, kH200, "").start, Start::kAfterPrevious);
  EXPECT_EQ(norm_plan(4096, 1025, kH200, "2 vectors, early").start, Start::kAfterPrevious);
  EXPECT_EQ(norm_plan(4096, 40000, kH200, "4 vectors, early").name(), "long rows");
  EXPECT_EQ(norm_plan(4096, 40000, kH200, "4 vectors, early").start, Start::kAfterPrevious);
}

TEST(NormPlan, FewRowsTakeFewBlocks) {
  EXPECT_EQ(norm_plan(1, 1, kH200, "").blocks, 1U);
  EXPECT_EQ(norm_plan(1, 1, kH200, "").threads, 32U);
}

TEST(NormPlan, ANameThatIsNoneIsAnError) {
  EXPECT_THAT([] { norm_plan(1, 8, kH200, "3 vectors"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("3 vectors")));
}

TEST(StreamPlan, EachIsNamedByWhatItDoes) {
  for (const bool early : {false, true}) {
    std::set<std::string> names;
    for (const StreamPlan& plan : stream_plans(132, early)) {
      EXPECT_TRUE(names.insert(plan.name()).second) << plan.name();
      EXPECT_EQ(plan.start == Start::kEarly, early);
      EXPECT_LE(plan.threads, kStreamedThreads);
      EXPECT_EQ(plan.threads % (32 * plan.teams), 0U);
    }
    EXPECT_FALSE(names.empty());
  }
}

TEST(StreamPlan, ModelsOfTheBenchmarkFitMultiprocessorsOfAmpereAndHopper) {
  constexpr std::size_t kAmpere = 163 << 10, kHopper = 227 << 10;
  const auto deepest = [](std::size_t shared, unsigned processors, std::size_t rows, std::size_t columns) {
    unsigned depth = 0;
    for (const StreamPlan& plan : stream_plans(processors, false)) {
      if (plan.shared_bytes(rows, columns) <= shared) depth = std::max(depth, plan.depth);
    }
    return depth;
  };
  // The logits, Llama's W2, Mixtral's W2.
  EXPECT_EQ(deepest(kHopper, 132, 32000, 4096), kDeepStream);
  EXPECT_EQ(deepest(kHopper, 132, 4096, 11008), kDeepStream);
  EXPECT_EQ(deepest(kHopper, 132, 4096, 14336), kDeepStream);
  EXPECT_GE(deepest(kAmpere, 108, 32000, 4096), kShallowStream);
  EXPECT_GE(deepest(kAmpere, 108, 4096, 14336), kShallowStream);
}

TEST(StreamPlan, BytesAreThoseOfTheRingOfXAndOfSums) {
  StreamPlan plan;
  plan.threads = 256;
  plan.teams = 2;
  plan.depth = 5;
  plan.processors = 10;
  // 125 groups, up to 13 a block; each of a team's 4 warps leaves a sum.
  EXPECT_EQ(plan.shared_bytes(1000, 512), 5U * 32 * 256 + 2 * 512 + 13 * 8 * 5 * 4);
}

}  // namespace
}  // namespace headroom::cuda
