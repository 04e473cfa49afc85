// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/bus_factor.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 8).value(), 2 * 7.0 / 8);
  for (const char* collective : {"reduce_scatter", "all_gather", "all_to_all"})
    EXPECT_DOUBLE_EQ(bus_factor(collective, 4).value(), 3.0 / 4) << collective;
  EXPECT_DOUBLE_EQ(bus_factor("broadcast", 4).value(), 1);
  EXPECT_DOUBLE_EQ(bus_factor("reduce", 4).value(), 1);
  EXPECT_FALSE(bus_factor("send_recv", 2));
  EXPECT_FALSE(bus_factor("all_reduce", 1));
  EXPECT_FALSE(bus_factor("all_reduce", -1));
}

}  // namespace
}  // namespace headroom
