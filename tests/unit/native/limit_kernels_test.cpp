// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/random.h"
#include "headroom/workload/input_copies.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/limits/memory_kernels.h"
#include "headroom_native/limits/peak_kernels.h"
#include "headroom_native/llm/decoder.h"
#include "headroom_native/llm/llm_cases.h"
#include "native_case.h"

namespace headroom::native {
namespace {

constexpr const char* kReadPatterns[] = {"linear", "streams", "prefetch", "streams_prefetch"};
constexpr const char* kPeakDtypes[] = {"f64", "f32", "bf16", "int8"};
const std::size_t kLineCounts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 100};

class GuardedPages {
 public:
  explicit GuardedPages(std::size_t pages)
      : pages_(pages), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, (pages + 1) * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~GuardedPages() { munmap(memory_, (pages_ + 1) * page_); }

  std::byte* data() { return memory_; }
  std::byte* end() { return memory_ + pages_ * page_; }
  std::size_t bytes() const { return pages_ * page_; }
  std::byte* page(std::size_t index) { return memory_ + index * page_; }
  std::size_t page_bytes() const { return page_; }
  void forbid(std::size_t index) { mprotect(page(index), page_, PROT_NONE); }

 private:
  std::size_t pages_;
  std::size_t page_;
  std::byte* memory_;
};

TEST(ZeroKernel, ClearsItsRangeAndNoMore) {
  const WriteKernel kernel = zero_kernel();
  if (kernel == nullptr) GTEST_SKIP() << "this CPU has no instruction that clears a line";
  for (const std::size_t lines : kLineCounts) {
    GuardedPages pages(2);
    pages.forbid(2);
    std::fill(pages.data(), pages.end(), std::byte{7});
    std::byte* const start = pages.end() - lines * kLineBytes;
    kernel(start, lines * kLineBytes);
    store_fence();
    EXPECT_TRUE(std::all_of(pages.data(), start, [](std::byte one) { return one == std::byte{7}; }));
    EXPECT_TRUE(std::all_of(start, pages.end(), [](std::byte one) { return one == std::byte{0}; })) << lines;
  }
}

TEST(ReadKernels, StayWithinTheirRange) {
  for (const Isa isa : available_isas()) {
    for (const char* pattern : kReadPatterns) {
      for (const std::size_t lines : kLineCounts) {
        GuardedPages pages(2);
        pages.forbid(2);
        read_kernel(pattern, isa)(pages.end() - lines * kLineBytes, lines * kLineBytes);
      }
    }
  }
}

bool reads(ReadKernel kernel, const std::byte* data, std::size_t bytes) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    kernel(data, bytes);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ReadKernels, ReadEveryPageOfTheirRange) {
  for (const char* pattern : kReadPatterns) {
    const ReadKernel kernel = read_kernel(pattern, available_isas().back());
    for (const std::size_t page : {0, 1, 2, 3, 4}) {
      GuardedPages pages(5);
      pages.forbid(page);
      EXPECT_TRUE(reads(kernel, pages.data(), pages.bytes())) << pattern << " leaves out page " << page;
    }
    GuardedPages pages(5);
    EXPECT_FALSE(reads(kernel, pages.data(), pages.bytes())) << pattern;
  }
}

TEST(ReadKernels, ReadTheLastLineOfOddRanges) {
  for (const Isa isa : available_isas()) {
    for (const char* pattern : kReadPatterns) {
      GuardedPages pages(2);
      pages.forbid(2);
      // Line 17 is on the protected page.
      EXPECT_TRUE(reads(read_kernel(pattern, isa), pages.end() - 16 * kLineBytes, 17 * kLineBytes))
          << pattern << " " << name_of(isa);
    }
  }
}

TEST(WriteKernels, WriteEveryByteOfTheirRangeAndNoOther) {
  for (const Isa isa : available_isas()) {
    for (const char* pattern : {"plain", "nontemporal"}) {
      for (const std::size_t lines : kLineCounts) {
        Buffer memory((lines + 2) * kLineBytes);
        write_kernel(pattern, isa)(memory.data() + kLineBytes, lines * kLineBytes);
        store_fence();
        for (std::size_t i = 0; i < memory.bytes(); ++i) {
          const bool inside = i >= kLineBytes && i < (lines + 1) * kLineBytes;
          ASSERT_EQ(memory.data()[i], inside ? std::byte{0xff} : std::byte{0})
              << pattern << " " << name_of(isa) << ", " << lines << " lines, byte " << i;
        }
      }
    }
  }
}

TEST(CopyKernels, CopyEveryByteAndNoOther) {
  for (const Isa isa : available_isas()) {
    for (const char* pattern : {"plain", "nontemporal", "prefetch"}) {
      for (const std::size_t lines : kLineCounts) {
        const std::size_t bytes = lines * kLineBytes;
        Buffer from(bytes + kLineBytes), to(bytes + kLineBytes);
        fill_random(from.as<std::int8_t>(), 1);
        copy_kernel(pattern, isa)(to.data(), from.data(), bytes);
        store_fence();
        EXPECT_TRUE(std::equal(to.data(), to.data() + bytes, from.data())) << pattern << " " << name_of(isa);
        EXPECT_TRUE(std::all_of(to.data() + bytes, to.data() + to.bytes(),
                                [](std::byte byte) { return byte == std::byte{0}; }));
      }
    }
  }
}

TEST(LimitKernels, RefuseAnUnknownPattern) {
  EXPECT_THROW(read_kernel("zigzag", Isa::kBaseline), std::logic_error);
  EXPECT_THROW(write_kernel("zigzag", Isa::kBaseline), std::logic_error);
  EXPECT_THROW(copy_kernel("zigzag", Isa::kBaseline), std::logic_error);
}

TEST(PeakKernels, EachOneRunsOrSaysWhyNot) {
  for (const Isa isa : available_isas()) {
    for (const char* dtype : kPeakDtypes) {
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
    for (const char* dtype : kPeakDtypes) {
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

/// Operations per ns, the best of many attempts.
template <typename Body>
double best_rate(double operations, const Body& body, int attempts = 40) {
  double best_ns = 1e18;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const auto stop = std::chrono::steady_clock::now();
    best_ns = std::min(best_ns, std::chrono::duration<double, std::nano>(stop - start).count());
  }
  return operations / best_ns;
}

TEST(PeakKernels, TimeGrowsWithTheRounds) {
  const PeakKernel kernel = peak_kernel("f32", "fma", available_isas().back());
  const auto best_ns = [&](std::uint64_t rounds) {
    return 1 / best_rate(
                   1, [&] { kernel.run(rounds); }, 5);
  };
  EXPECT_GT(best_ns(400'000), 4 * best_ns(40'000));
}

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
      kernel.multiply(weights.as<std::byte>().data(), kRows, kColumns, of_x, Residency::kNear, y.data());
    }
  });
}

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

std::string declared(const char* dtype, const LlmShape& shape, Isa isa) {
  return llm_work(llama2_7b(dtype), shape, isa).dtype;
}

TEST(LlmWork, IntegersAreHeldAgainstIntegersWhereTheyAreMultipliedAsSuch) {
  const LlmShape token{1, 64, 1}, tokens{32, 64, 1}, prompt{1, 0, 200};
  for (const Isa isa : available_isas()) {
    for (const char* dtype : {"bf16", "int8", "int8_g32", "int4"}) {
      const bool is_block = is_blocked(llm_format(dtype));
      // docs/reference/experiments.md: fixed point from AVX2 on; blocks where bytes are multiplied.
      const Isa least = is_block ? Isa::kAvx512Vnni : Isa::kAvx2;
#if defined(__x86_64__)
      const bool is_integer = std::string(dtype) != "bf16" && isa >= least;
      EXPECT_EQ(declared(dtype, token, isa), is_integer ? "int8" : "bf16") << dtype << " " << name_of(isa);
#endif
      EXPECT_EQ(declared(dtype, tokens, isa), "bf16") << "many are multiplied as bf16: " << dtype;
      // Only the last token's logits multiply one vector.
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
