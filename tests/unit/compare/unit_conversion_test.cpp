// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/unit_conversion.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(UnitFactor, ConvertsWhatMeasuresTheSame) {
  EXPECT_DOUBLE_EQ(unit_factor("ms", "us").value(), 1e3);
  EXPECT_DOUBLE_EQ(unit_factor("us", "s").value(), 1e-6);
  EXPECT_DOUBLE_EQ(unit_factor("µs", "us").value(), 1);
  EXPECT_DOUBLE_EQ(unit_factor("MiB", "KB").value(), 1048.576);
  EXPECT_DOUBLE_EQ(unit_factor("GB/s", "MB/s").value(), 1e3);
  EXPECT_DOUBLE_EQ(unit_factor("GFLOP/s", "GOP/s").value(), 1);
}

TEST(UnitFactor, KnowsAnyUnitToBeItself) {
  EXPECT_EQ(unit_factor("tokens/s", "tokens/s"), 1);
  EXPECT_EQ(unit_factor("", ""), 1);
}

TEST(UnitFactor, RefusesWhatDoesNot) {
  EXPECT_FALSE(unit_factor("ms", "GB/s"));
  EXPECT_FALSE(unit_factor("tokens/s", "s"));
  EXPECT_FALSE(unit_factor("B", "B/s"));
}

}  // namespace
}  // namespace headroom
