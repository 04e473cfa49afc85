// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/device_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"

namespace headroom {
namespace {

TEST(DeviceProtocol, EveryFieldComesBack) {
  const DeviceDescription device{"NVIDIA H200", "GPU-0c1b", "00000000:01:00.0",
                                 "580.95.05",   "13.0",     "9.0",
                                 1LL << 37,     60 << 20,   132,
                                 6144,          1980.5,     3201,
                                 700,           "on",       "off"};
  const Json sent = to_json(device);
  EXPECT_EQ(sent.size(), 15U);
  EXPECT_EQ(to_json(device_from_json(parse_json(dump_json(sent), "t"))), sent);
}

TEST(DeviceProtocol, WhatIsNotToldIsLeftOutAndWhatIsOfAnotherTypeIsNamed) {
  EXPECT_EQ(dump_json(to_json(DeviceDescription{})), "{}");
  EXPECT_EQ(device_from_json(Json::object()).memory_bytes, 0);
  const auto refusal = [](const char* text) {
    return test::message_of([&] { device_from_json(parse_json(text, "t")); });
  };
  EXPECT_THAT(refusal(R"({"name": 3})"), testing::HasSubstr("/devices/name"));
  EXPECT_THAT(refusal(R"({"memory_bytes": -1})"), testing::HasSubstr("/devices/memory_bytes"));
  EXPECT_THAT(refusal(R"({"max_sm_mhz": "fast"})"), testing::HasSubstr("/devices/max_sm_mhz"));
  EXPECT_THAT(refusal("[]"), testing::HasSubstr("/devices: expected an object"));
}

}  // namespace
}  // namespace headroom
