// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/axis_value.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace {

TEST(AxisValue, IsANumberWhereTheTextIsItsOwnShortestForm) {
  EXPECT_EQ(AxisValue("4096").integer(), 4096);
  EXPECT_EQ(AxisValue("-3").integer(), -3);
  EXPECT_EQ(AxisValue("0.25").number(), 0.25);
  EXPECT_EQ(AxisValue("4096").number(), 4096);
  for (const char* text : {"int8", "007", "1e3", "0x10", "+4", "1.50", "", " 4", "nan", "inf", "4096x128",
                           "99999999999999999999"}) {
    EXPECT_FALSE(AxisValue(text).number()) << text;
    EXPECT_EQ(AxisValue(text).text(), text);
  }
}

TEST(AxisValue, TheTextOfEachIsTheTextThatItWasMadeOf) {
  for (const char* text : {"4096", "-3", "0.25", "1e+30", "bf16", "a=b c"})
    EXPECT_EQ(AxisValue(text).text(), text);
}

TEST(AxisValue, SizesAreShownExactly) {
  EXPECT_EQ(AxisValue(AxisValue::Size{25 << 20}).text(), "25 MiB");
  EXPECT_EQ(AxisValue(AxisValue::Size{1363148}).text(), "1363148 B") << "1.3 MB of --bucket-size";
  EXPECT_EQ(AxisValue(AxisValue::Size{1363148}).integer(), 1363148);
  EXPECT_NE(AxisValue(AxisValue::Size{1049624}), AxisValue(AxisValue::Size{1050673})) << "1.001 and 1.002 MB";
  EXPECT_NE(AxisValue(AxisValue::Size{1049624}).text(), AxisValue(AxisValue::Size{1050673}).text());
}

}  // namespace
}  // namespace headroom
