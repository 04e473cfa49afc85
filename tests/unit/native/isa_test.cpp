// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom_native/gemv_kernel.h"

namespace headroom::native {
namespace {

class IsaTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("HEADROOM_ISA"); }
};

TEST_F(IsaTest, TheBestIsChosenByDefault) {
  unsetenv("HEADROOM_ISA");
  EXPECT_EQ(chosen_isa(), available_isas().back());
  setenv("HEADROOM_ISA", "", 1);
  EXPECT_EQ(chosen_isa(), available_isas().back());
}

TEST_F(IsaTest, TheEnvironmentForcesEachAvailableOne) {
  for (const Isa isa : available_isas()) {
    setenv("HEADROOM_ISA", name_of(isa), 1);
    EXPECT_EQ(chosen_isa(), isa);
  }
}

TEST_F(IsaTest, AnUnknownNameIsAnErrorThatListsTheNames) {
  setenv("HEADROOM_ISA", "avx9", 1);
  try {
    chosen_isa();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("avx9"), ::testing::HasSubstr("avx512_bf16")));
  }
}

TEST_F(IsaTest, AForcedBaselineRunsOtherCodeThanTheBest) {
  if (available_isas().size() == 1) GTEST_SKIP() << "this CPU has the baseline only";
  EXPECT_NE(gemv_kernel("int8", Isa::kBaseline).isa, gemv_kernel("int8", available_isas().back()).isa);
  EXPECT_NE(gemv_kernel("int8", Isa::kBaseline).multiply,
            gemv_kernel("int8", available_isas().back()).multiply);
}

}  // namespace
}  // namespace headroom::native
