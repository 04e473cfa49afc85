// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "forced_isa.h"
#include "headroom/base/error.h"
#include "headroom_native/kernels/gemv_kernel.h"
#include "headroom_native/kernels/norm_kernel.h"

namespace headroom::native {
namespace {

/// The suite runs these tests on levels below the CPU's own, too (tests/native/CMakeLists.txt). One that it
/// lacks is no failure.
class LevelIsThere : public ::testing::Environment {
  void SetUp() override {
    const char* wanted = std::getenv("HEADROOM_ISA");
    for (const Isa isa : all_isas()) {
      if (wanted == nullptr || name_of(isa) != std::string(wanted)) continue;
      if (!std::ranges::count(available_isas(), isa))
        GTEST_SKIP() << "no test runs: this CPU has no " << wanted;
    }
  }
};
[[maybe_unused]] const auto* const kLevelIsThere =
    ::testing::AddGlobalTestEnvironment(new LevelIsThere);  // gtest deletes it

class IsaLevelTest : public ::testing::TestWithParam<Isa> {};

/// What a CPU lacks is said by name: all other tests of kernels run what is there.
TEST_P(IsaLevelTest, IsChosenWhereTheEnvironmentNamesIt) {
  const ForcedIsa forced(name_of(GetParam()));
  if (std::ranges::count(available_isas(), GetParam()) == 0) {
    EXPECT_THROW(chosen_isa(), Error);
    GTEST_SKIP() << "this CPU has no " << name_of(GetParam()) << ": its kernels are not tested";
  }
  EXPECT_EQ(chosen_isa(), GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, IsaLevelTest, ::testing::ValuesIn(all_isas()),
                         [](const auto& suite) { return std::string(name_of(suite.param)); });

TEST(Isa, LevelsAreAvailableUpToTheBest) {
  const std::vector<Isa> available = available_isas(), all = all_isas();
  ASSERT_FALSE(available.empty());
  const std::vector<Isa> first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(available.size()));
  EXPECT_EQ(available, first);
}

TEST(Isa, TheBestIsChosenByDefault) {
  {
    const ForcedIsa none(nullptr);
    EXPECT_EQ(chosen_isa(), available_isas().back());
  }
  const ForcedIsa empty("");
  EXPECT_EQ(chosen_isa(), available_isas().back());
}

TEST(Isa, AnUnknownNameIsAnErrorThatListsTheNames) {
  const ForcedIsa unknown("avx9");
  try {
    chosen_isa();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("avx9"), ::testing::HasSubstr("avx512_bf16")));
  }
}

TEST(Isa, AForcedBaselineRunsOtherCodeThanTheBest) {
  if (available_isas().size() == 1) GTEST_SKIP() << "this CPU has the baseline only";
  EXPECT_NE(gemv_kernel("int8", Isa::kBaseline).isa, gemv_kernel("int8", available_isas().back()).isa);
  EXPECT_NE(gemv_kernel("int8", Isa::kBaseline).multiply,
            gemv_kernel("int8", available_isas().back()).multiply);
}

/// Not one number at a time, as it was where Highway has nothing for the baseline.
TEST(Isa, TheBaselineHasVectors) {
#if defined(__x86_64__) && !defined(__SSE4_1__)
  EXPECT_EQ(portable_gemv_kernel("bf16", Isa::kBaseline).isa, "SSE2");
  EXPECT_EQ(portable_norm_kernel(Isa::kBaseline).isa, "SSE2");
#elif defined(__aarch64__)
  EXPECT_THAT(portable_gemv_kernel("bf16", Isa::kBaseline).isa, ::testing::HasSubstr("NEON"));
  EXPECT_EQ(available_isas(), std::vector{Isa::kBaseline});
#else
  GTEST_SKIP() << "the baseline of this compiler is not that of an architecture";
#endif
}

}  // namespace
}  // namespace headroom::native
