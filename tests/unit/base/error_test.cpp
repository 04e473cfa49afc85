// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/error.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(WithContext, PutsTheContextInFront) {
  try {
    with_context("reading 'a.toml'", [] { throw Error("line 3: no value"); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "reading 'a.toml': line 3: no value");
  }
}

TEST(WithContext, GivesBackWhatTheBodyGives) {
  int value = 7;
  int& reference = with_context("x", [&]() -> int& { return value; });
  reference = 8;
  EXPECT_EQ(value, 8);
}

TEST(WithContext, LeavesOtherExceptionsAlone) {
  EXPECT_THROW(with_context("x", [] { throw std::logic_error("a defect"); }), std::logic_error);
}

}  // namespace
}  // namespace headroom
