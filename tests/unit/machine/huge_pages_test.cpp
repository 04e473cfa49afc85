// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "file_tree.h"
#include "headroom/machine/text_file.h"

namespace headroom {
namespace {

constexpr const char* kSmaps =
    "00400000-00500000 r-xp 00000000 08:01 12 /bin/program\n"
    "Size:               1024 kB\n"
    "AnonHugePages:         0 kB\n"
    "VmFlags: rd ex mr mw me\n"
    "7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \n"
    "Size:               8192 kB\n"
    "AnonHugePages:      4096 kB\n"
    "7f0000800000-7f0000a00000 rw-p 00000000 00:00 0 \n"
    "AnonHugePages:      2048 kB\n";
constexpr std::size_t kStart = 0x7f0000000000, kMebibyte = std::size_t{1} << 20;

TEST(HugePages, OfARangeAreThoseOfItsMappings) {
  EXPECT_EQ(huge_page_bytes_of_smaps(kSmaps, kStart, 8 * kMebibyte), 4 * kMebibyte);
  EXPECT_EQ(huge_page_bytes_of_smaps(kSmaps, kStart, 10 * kMebibyte), 6 * kMebibyte);
  EXPECT_EQ(huge_page_bytes_of_smaps(kSmaps, kStart, 4 * kMebibyte), 2 * kMebibyte)
      << "its share of a mapping";
  EXPECT_EQ(huge_page_bytes_of_smaps(kSmaps, 0x400000, kMebibyte), 0U);
  EXPECT_FALSE(huge_page_bytes_of_smaps(kSmaps, 0x1000, kMebibyte)) << "no mapping";
  for (const char* text : {"", "7f0000000000-", "7f0000000000-7f0000800000 rw-p\nAnonHugePages: x kB\n",
                           "7f0000000000-7f0000800000 rw-p\nAnonHugePages: 5\n", "\n\n:"})
    EXPECT_FALSE(huge_page_bytes_of_smaps(text, kStart, kMebibyte)) << text;
}

TEST(HugePages, BothWaysOfTheKernelSayTheSame) {
  constexpr std::size_t kBytes = 16 * kMebibyte;
  for (const int advice : {MADV_HUGEPAGE, MADV_NOHUGEPAGE}) {
    void* const mapping =
        ::mmap(nullptr, kBytes + kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapping, MAP_FAILED);
    const auto start =
        (reinterpret_cast<std::uintptr_t>(mapping) + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    auto* const data = reinterpret_cast<char*>(start);
    ::madvise(data, kBytes, advice);
    std::memset(data, 1, kBytes);
    const auto huge = huge_page_bytes(data, kBytes);
    ASSERT_TRUE(huge);
    EXPECT_EQ(huge_page_bytes_of_smaps(text_of_file("/proc/self/smaps"), start, kBytes), huge);
    if (advice == MADV_NOHUGEPAGE) {
      EXPECT_EQ(*huge, 0U);
    }
    ::munmap(mapping, kBytes + kHugePageBytes);
  }
}

TEST(HugePages, AreGivenToWhomTheKernelSays) {
  FileTree tree;
  EXPECT_EQ(huge_page_policy(tree.root()), "");
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(huge_page_policy(tree.root()), "madvise");
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  EXPECT_EQ(huge_page_policy(tree.root()), "never");
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "]always[\n");
  EXPECT_EQ(huge_page_policy(tree.root()), "");
}

}  // namespace
}  // namespace headroom
