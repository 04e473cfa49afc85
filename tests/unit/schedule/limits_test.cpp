// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/limits.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

constexpr Rates kRates{.read = 100, .write = 50, .copy = 80, .peak = 1000};

TEST(Roofline, ReadsAndWritesAloneMoveAtTheirOwnRate) {
  EXPECT_DOUBLE_EQ(memory_floor_seconds({.bytes_read = 200}, kRates), 2);
  EXPECT_DOUBLE_EQ(memory_floor_seconds({.bytes_written = 200}, kRates), 4);
}

TEST(Roofline, ThePairedPartMovesAtTheCopyRate) {
  EXPECT_DOUBLE_EQ(memory_floor_seconds({.bytes_read = 80, .bytes_written = 80}, kRates), 2);
  EXPECT_DOUBLE_EQ(memory_floor_seconds({.bytes_read = 380, .bytes_written = 80}, kRates), 2 + 3);
  EXPECT_DOUBLE_EQ(memory_floor_seconds({.bytes_read = 80, .bytes_written = 180}, kRates), 2 + 2);
}

TEST(Roofline, TheFloorIsTheLargerOfMemoryAndCompute) {
  EXPECT_DOUBLE_EQ(floor_seconds({.bytes_read = 200, .flops = 1000}, kRates), 2);
  EXPECT_DOUBLE_EQ(floor_seconds({.bytes_read = 200, .flops = 5000}, kRates), 5);
  EXPECT_DOUBLE_EQ(compute_floor_seconds({.flops = 5000}, kRates), 5);
}

TEST(Roofline, WhatIsExchangedMayTakeLongest) {
  EXPECT_DOUBLE_EQ(floor_seconds({.bytes_read = 200, .exchanged = 60}, {.read = 100, .exchange = 20}), 3);
  EXPECT_DOUBLE_EQ(floor_seconds({.bytes_read = 200, .exchanged = 20}, {.read = 100, .exchange = 20}), 2);
  EXPECT_EQ(exchange_floor_seconds({.exchanged = 60}, {.read = 100}), 0);
}

TEST(Roofline, UnknownRatesComeFromTheKnownOnes) {
  const Traffic both{.bytes_read = 300, .bytes_written = 100};
  EXPECT_DOUBLE_EQ(memory_floor_seconds(both, {.read = 100}), 4);
  EXPECT_DOUBLE_EQ(memory_floor_seconds(both, {.write = 100}), 4);
  EXPECT_DOUBLE_EQ(memory_floor_seconds(both, {.copy = 100}), 4);
  EXPECT_DOUBLE_EQ(memory_floor_seconds(both, {.read = 100, .write = 50}), 3 + 2) << "the streams take turns";
}

TEST(Roofline, NothingKnownOrNothingMovedIsZero) {
  EXPECT_EQ(floor_seconds({.bytes_read = 1, .bytes_written = 1, .flops = 1}, {}), 0);
  EXPECT_EQ(floor_seconds({}, kRates), 0);
  EXPECT_DOUBLE_EQ(floor_seconds({.bytes_read = 200, .flops = 1e9}, {.read = 100}), 2);
  EXPECT_DOUBLE_EQ(floor_seconds({.bytes_read = 200, .flops = 1e3}, {.peak = 1e3}), 1);
}

}  // namespace
}  // namespace headroom
