// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/peak_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "forced_isa.h"
#include "headroom/experiment/buffer.h"
#include "headroom/experiment/random.h"
#include "headroom/workload/input_copies.h"
#include "headroom_native/kernels/gemv_kernel.h"
#include "headroom_native/llm/llm_work.h"
#include "headroom_native/llm/matrix_products.h"
#include "run_case.h"

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

/// Operations per nanosecond: the most in any of many short attempts.
template <typename Body>
double best_rate(double operations, const Body& body) {
  double best_ns = 1e18;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const auto stop = std::chrono::steady_clock::now();
    best_ns = std::min(best_ns, std::chrono::duration<double, std::nano>(stop - start).count());
  }
  return operations / best_ns;
}

/// The peak that a case with FLOPs of `dtype` is held against.
double peak_rate(const std::string& dtype, Isa isa) {
  double best = 0;
  for (const char* pattern : {"fma", "dot", "amx"}) {
    const PeakKernel kernel = peak_kernel(dtype, pattern, isa);
    if (kernel.run == nullptr) continue;
    constexpr std::uint64_t kRounds = 2000;
    best = std::max(best, best_rate(kRounds * kernel.flops_per_round, [&] { kernel.run(kRounds); }));
  }
  return best;
}

/// Of weights that stay in the first-level cache.
double gemv_rate(const std::string& dtype, Isa isa, GemvForm form) {
  constexpr std::size_t kRows = 16, kColumns = 512, kPasses = 8;
  const GemvKernel kernel = gemv_kernel(dtype, isa, form);
  Buffer weights(kRows * kColumns * item_bytes(dtype)), prepared(prepared_bytes(kColumns));
  fill_random(weights.as<std::int8_t>(), 1);
  const std::vector<Bf16> x(kColumns, to_bf16(0.5F));
  std::vector<float> y(kRows);
  auto* const of_x = prepared.as<std::byte>().data();
  kernel.prepare(x.data(), kColumns, of_x);
  return best_rate(2.0 * kRows * kColumns * kPasses, [&] {
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
      kernel.multiply(weights.as<std::byte>().data(), kRows, kColumns, of_x, Reach::kNear, y.data());
    }
  });
}

/// A limit is one only if its instructions are the best that the kernels of the same level have.
TEST(PeakKernels, NoKernelOfTheSameLevelMultipliesFaster) {
  for (const Isa isa : available_isas()) {
    const ForcedIsa forced(name_of(isa));
    for (const char* dtype : {"bf16", "int8"}) {
      for (const char* experiment : {"gemv", "gather_gemv"}) {
        const std::string peak = run(hot_case(experiment, {{"D", "64"}, {"dtype", dtype}})).info.work.dtype;
        for (const GemvForm form : {GemvForm::kBest, GemvForm::kTable, GemvForm::kStrict}) {
          if (!has_gemv_form(dtype, isa, form)) continue;
          EXPECT_LT(gemv_rate(dtype, isa, form), 1.05 * peak_rate(peak, isa))
              << experiment << " of " << dtype << " against the peak of " << peak << ", " << name_of(isa);
        }
      }
    }
  }
}

/// Of a matrix that stays in the first-level cache, times so many vectors.
double matrix_rate(LlmFormat format, std::size_t vectors, Isa isa) {
  constexpr std::size_t kRows = 16, kColumns = 512, kPasses = 8;
  LlmMatrix matrix;
  matrix.rows = kRows;
  matrix.columns = kColumns;
  matrix.format = format;
  Buffer weights(matrix.bytes());
  fill_random(weights.as<std::int8_t>(), 1);
  matrix.weights = weights.data();
  const std::vector<Bf16> x(kColumns, to_bf16(0.5F));
  std::vector<float> sums(kRows * vectors);
  std::vector<LlmProduct> list;
  for (std::size_t i = 0; i < vectors; ++i) list.push_back({x.data(), sums.data() + i * kRows});
  MatrixProducts products(isa, kColumns);
  return best_rate(2.0 * kRows * kColumns * kPasses * static_cast<double>(vectors), [&] {
    for (std::size_t pass = 0; pass < kPasses; ++pass) products.multiply(matrix, {0, kRows}, list);
  });
}

TEST(PeakKernels, NoMatrixOfAModelMultipliesFasterThanWhatItIsHeldAgainst) {
  for (const Isa isa : available_isas()) {
    for (const LlmFormat format : kLlmFormats) {
      for (const std::size_t vectors : {1U, 32U}) {
        const std::string dtype = dtype_of_products(format, vectors, isa);
        EXPECT_LT(matrix_rate(format, vectors, isa), 1.05 * peak_rate(dtype, isa))
            << name_of(format) << " times " << vectors << " against the peak of " << dtype << ", "
            << name_of(isa);
      }
    }
  }
}

/// Of a model whose matrices are all of `dtype`, as llm.decode and llm.prefill declare it.
std::string declared(const char* dtype, const LlmShape& shape, Isa isa) {
  return llm_work(llama2_7b(dtype), shape, isa).dtype;
}

TEST(LlmWork, IntegersAreHeldAgainstIntegersWhereTheyAreMultipliedAsSuch) {
  const LlmShape token{1, 64, 1}, tokens{32, 64, 1}, prompt{1, 0, 200};
  for (const Isa isa : available_isas()) {
    for (const char* dtype : {"bf16", "int8", "int8_g32", "int4"}) {
      const bool is_block = is_blocked(llm_format(dtype));
      // As docs/llm.md has it: x is fixed point from AVX2 on, times blocks where bytes are multiplied.
      const Isa least = is_block ? Isa::kAvx512Vnni : Isa::kAvx2;
#if defined(__x86_64__)
      const bool is_integer = std::string(dtype) != "bf16" && isa >= least;
      EXPECT_EQ(declared(dtype, token, isa), is_integer ? "int8" : "bf16") << dtype << " " << name_of(isa);
#endif
      EXPECT_EQ(declared(dtype, tokens, isa), "bf16") << "many are multiplied as bf16: " << dtype;
      // The last token's logits alone are one vector: too few operations to be held against.
      EXPECT_EQ(declared(dtype, prompt, isa), "bf16") << dtype;
    }
  }
}

TEST(PeakKernels, SayWhatIsMissing) {
  EXPECT_EQ(peak_kernel("f64", "dot", available_isas().back()).why_not.find("no dot") == std::string::npos,
            false);
  EXPECT_NE(peak_kernel("int8", "amx", Isa::kBaseline).why_not, "");
}

}  // namespace
}  // namespace headroom::native
