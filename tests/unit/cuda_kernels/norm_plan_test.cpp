// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/norm_plan.h"

#include <gmock/gmock.h>

#include "headroom/base/error.h"

namespace headroom::cuda {
namespace {

constexpr unsigned kH200 = 132;

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
  EXPECT_EQ(norm_plan(4096, 4096, kH200, "").start, Start::kBehindOther);
  EXPECT_EQ(norm_plan(4096, 1025, kH200, "2 vectors, early").start, Start::kBehindOther);
  EXPECT_EQ(norm_plan(4096, 40000, kH200, "4 vectors, early").name(), "long rows");
  EXPECT_EQ(norm_plan(4096, 40000, kH200, "4 vectors, early").start, Start::kBehindOther);
}

TEST(NormPlan, FewRowsTakeFewBlocks) {
  EXPECT_EQ(norm_plan(1, 1, kH200, "").blocks, 1U);
  EXPECT_EQ(norm_plan(1, 1, kH200, "").threads, 32U);
}

TEST(NormPlan, ANameThatIsNoneIsAnError) {
  EXPECT_THAT([] { norm_plan(1, 8, kH200, "3 vectors"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("3 vectors")));
}

}  // namespace
}  // namespace headroom::cuda
