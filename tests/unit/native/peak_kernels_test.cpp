// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/peak_kernels.h"

#include <gtest/gtest.h>

#include <chrono>

namespace headroom::native {
namespace {

TEST(PeakKernels, EachOneRunsOrSaysWhyNot) {
  for (const Isa isa : available_isas()) {
    for (const char* dtype : {"f64", "f32", "bf16", "int8"}) {
      for (const char* pattern : {"fma", "dot", "amx"}) {
        const PeakKernel kernel = peak_kernel(dtype, pattern, isa);
        if (kernel.run == nullptr) {
          EXPECT_FALSE(kernel.why_not.empty()) << dtype << " " << pattern;
          continue;
        }
        kernel.run(10);
        EXPECT_GT(kernel.flops_per_round, 0) << dtype << " " << pattern;
        EXPECT_FALSE(kernel.instruction.empty());
      }
    }
  }
}

TEST(PeakKernels, EveryDtypeHasOne) {
  for (const Isa isa : available_isas()) {
    for (const char* dtype : {"f64", "f32", "bf16", "int8"}) {
      EXPECT_NE(peak_kernel(dtype, "fma", isa).run, nullptr) << dtype << " " << name_of(isa);
    }
  }
}

TEST(PeakKernels, BytesHaveOneWhereVectorsOfTheInstructionSetMultiplyThem) {
  for (const Isa isa : available_isas()) {
    if (isa == Isa::kBaseline) continue;
    EXPECT_NE(peak_kernel("int8", "dot", isa).run, nullptr) << name_of(isa);
  }
}

TEST(PeakKernels, TimeGrowsWithTheRounds) {
  // A loop that the compiler drops would take no time however many its rounds.
  const PeakKernel kernel = peak_kernel("f32", "fma", available_isas().back());
  const auto best_ns = [&](std::uint64_t rounds) {
    double best = 1e18;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const auto start = std::chrono::steady_clock::now();
      kernel.run(rounds);
      const auto stop = std::chrono::steady_clock::now();
      best = std::min(best, std::chrono::duration<double, std::nano>(stop - start).count());
    }
    return best;
  };
  EXPECT_GT(best_ns(400'000), 4 * best_ns(40'000));
}

TEST(PeakKernels, SayWhatIsMissing) {
  EXPECT_EQ(peak_kernel("f64", "dot", available_isas().back()).why_not.find("no dot") == std::string::npos,
            false);
  EXPECT_NE(peak_kernel("int8", "amx", Isa::kBaseline).why_not, "");
}

}  // namespace
}  // namespace headroom::native
