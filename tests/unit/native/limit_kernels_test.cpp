// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/random.h"
#include "headroom_native/kernels/cache_line.h"
#include "headroom_native/limits/copy_kernels.h"
#include "headroom_native/limits/read_kernels.h"
#include "headroom_native/limits/write_kernels.h"

namespace headroom::native {
namespace {

/// Line counts around the unrolled blocks of the kernels.
const std::size_t kLineCounts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 100};

/// Pages of which some may be forbidden, and one more behind them.
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
    for (const char* pattern : {"linear", "streams", "prefetch", "streams_prefetch"}) {
      for (const std::size_t lines : kLineCounts) {
        GuardedPages pages(2);
        pages.forbid(2);
        read_kernel(pattern, isa)(pages.end() - lines * kLineBytes, lines * kLineBytes);
      }
    }
  }
}

/// Reading a page that is forbidden kills the child: so each line of the range is proved to be read.
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
  for (const char* pattern : {"linear", "streams", "prefetch", "streams_prefetch"}) {
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
    for (const char* pattern : {"linear", "streams", "prefetch", "streams_prefetch"}) {
      GuardedPages pages(2);
      pages.forbid(2);
      // The last of 17 lines is the first of the forbidden page.
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

}  // namespace
}  // namespace headroom::native
