// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "../error_message.h"
#include "headroom/machine/huge_pages.h"
#include "headroom/record/page_share.h"
#include "scripted_source.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kBytes = 8 * kHugePageBytes;

/// What HEADROOM_HUGE_PAGES says while it lives.
class Wish {
 public:
  explicit Wish(const char* value) {
    if (const char* found = ::getenv(kHugePagesVariable)) before_ = found;
    value == nullptr ? ::unsetenv(kHugePagesVariable) : ::setenv(kHugePagesVariable, value, 1);
  }
  ~Wish() { before_ ? ::setenv(kHugePagesVariable, before_->c_str(), 1) : ::unsetenv(kHugePagesVariable); }
  Wish(const Wish&) = delete;
  Wish& operator=(const Wish&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(BufferPagesTest, AreHugeWhereTheyAreAskedForAndTheKernelGivesThem) {
  const Wish wish("yes");
  const Buffer buffer(kBytes), small(4096);
  EXPECT_EQ(buffer_pages().possible, kBytes);
  const std::string policy = huge_page_policy();
  if (policy == "madvise" || policy == "always") {
    EXPECT_GT(buffer_pages().huge, 0U);
  } else {
    EXPECT_EQ(buffer_pages().huge, 0U) << "said, not failed";
  }
}

TEST(BufferPagesTest, AreSmallWhereTheyAreRefused) {
  const Wish wish("no");
  const Buffer buffer(kBytes);
  EXPECT_EQ(buffer_pages().possible, kBytes);
  EXPECT_EQ(buffer_pages().huge, 0U);
  EXPECT_EQ(text_of(buffer_pages()), kNoHugePages);
}

TEST(BufferPagesTest, AreLeftToTheKernel) {
  const Wish wish("default");
  const Buffer buffer(kBytes);
  if (huge_page_policy() != "always") {
    EXPECT_EQ(buffer_pages().huge, 0U);
  }
}

TEST(BufferPagesTest, AreCountedWhileTheBufferIsThere) {
  const Wish wish(nullptr);
  EXPECT_EQ(text_of(buffer_pages()), "");
  {
    Buffer first(kBytes), second;
    second = std::move(first);
    const Buffer third(std::move(second));
    EXPECT_EQ(buffer_pages().possible, kBytes);
  }
  EXPECT_EQ(buffer_pages().possible, 0U);
  EXPECT_EQ(buffer_pages().huge, 0U);
  std::thread([] {
    const Buffer elsewhere(kBytes);
    EXPECT_EQ(buffer_pages().possible, kBytes);
  }).join();
  EXPECT_EQ(buffer_pages().possible, 0U);
}

TEST(BufferPagesTest, AWishThatIsNoneIsRefusedByName) {
  const Wish wish("maybe");
  EXPECT_THAT(test::message_of([] { Buffer(1); }),
              AllOf(HasSubstr("HEADROOM_HUGE_PAGES"), HasSubstr("'maybe'"), HasSubstr("yes, no or default")));
}

TEST(BufferPagesTest, AreANoteOfTheCase) {
  const Wish wish("no");
  ScriptedSource source;
  SharedObjects shared;
  State with(CaseSpec{}, source, shared);
  {
    const Buffer buffer(kBytes);
    with.measure([] {});
  }
  ASSERT_EQ(source.infos.size(), 1U);
  EXPECT_EQ(source.infos[0].notes.at(kHugePagesKey), kNoHugePages);
  State without(CaseSpec{}, source, shared);
  without.measure([] {});
  EXPECT_FALSE(source.infos.at(1).notes.contains(kHugePagesKey));
}

}  // namespace
}  // namespace headroom
