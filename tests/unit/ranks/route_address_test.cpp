// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/route_address.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(RouteAddress, ToThisMachineItIsThatOfTheLoop) {
  EXPECT_EQ(local_address_to({"127.0.0.1", 29500}), "127.0.0.1");
  EXPECT_EQ(local_address_to({"127.0.0.7", 29500}), "127.0.0.1");
}

TEST(RouteAddress, WithoutAWayThereIsNone) {
  EXPECT_EQ(local_address_to({"no such host", 29500}), "");
  EXPECT_EQ(local_address_to({"", 0}).find("no"), std::string::npos);
}

}  // namespace
}  // namespace headroom
