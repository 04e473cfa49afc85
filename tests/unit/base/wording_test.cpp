// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/text.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "case"), "0 cases");
  EXPECT_EQ(counted(1, "case"), "1 case");
  EXPECT_EQ(counted(12, "case"), "12 cases");
}

TEST(Abridged, KeepsShortTextsAndTellsLongOnesApart) {
  EXPECT_EQ(abridged("abc", 3), "abc");
  EXPECT_EQ(abridged("", 3), "");
  const std::string beginning(50, 'x');
  const std::string one = abridged(beginning + std::string(2000, 'a'), 100);
  const std::string other = abridged(beginning + std::string(2000, 'b'), 100);
  EXPECT_TRUE(one.starts_with(beginning + "... (2.00 KiB, #")) << one;
  EXPECT_LT(one.size(), 100U);
  EXPECT_NE(one, other);
}

TEST(Abridged, CutsBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 100; ++i) text += "\u00e9";
  EXPECT_TRUE(abridged(text, 8).starts_with("x\u00e9\u00e9... (")) << abridged(text, 8);
  EXPECT_FALSE(abridged(std::string(100, '\xff'), 8).empty()) << "no UTF-8";
}

}  // namespace
}  // namespace headroom
