// SPDX-License-Identifier: Apache-2.0
#include "headroom_nvml/gpu_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "../error_message.h"
#include "fake_nvml.h"

namespace headroom::nvml {
namespace {

using test::message_of;
using testing::HasSubstr;

constexpr const char* kSecond = "0000:02:00.0";  // as CUDA writes it

TEST_F(FakeNvml, AReadingHasClocksPowerTemperatureAndReasons) {
  GpuMeter meter(std::make_shared<const Library>(), kSecond);
  std::set<double> clocks;
  for (int i = 0; i < 5; ++i) {
    const DeviceNoise now = meter.read();
    clocks.insert(now.sm_mhz);
    EXPECT_EQ(now.memory_mhz, 3201);
    EXPECT_EQ(now.power_w, 412.5);
    EXPECT_EQ(now.temperature_c, 61);
    EXPECT_EQ(now.throttle, 0U) << "idle is no reason";
  }
  EXPECT_THAT(clocks, testing::ElementsAre(1900, 1901, 1902, 1903, 1904));
  use(FAKE_NVML_NEW, "throttled");
  EXPECT_EQ(meter.read().throttle, 0x24U);
}

TEST_F(FakeNvml, AnOlderDriverNamesReasonsAndPowerOtherwise) {
  use(FAKE_NVML_OLD, "throttled");
  GpuMeter meter(std::make_shared<const Library>(), kSecond);
  const DeviceNoise now = meter.read();
  EXPECT_EQ(now.throttle, 0x24U);
  EXPECT_EQ(now.power_w, 333);
}

TEST_F(FakeNvml, WhatTheDriverDoesNotTellIsZero) {
  for (const char* words : {"mute", "lost"}) {
    use(FAKE_NVML_NEW, words);
    GpuMeter meter(std::make_shared<const Library>(), kSecond);
    EXPECT_EQ(meter.read(), DeviceNoise{}) << words;
    EXPECT_EQ(meter.read(), DeviceNoise{}) << words;
  }
}

TEST_F(FakeNvml, AGpuThatIsLostForAMomentIsAskedAgain) {
  use(FAKE_NVML_NEW, "lost");
  GpuMeter meter(std::make_shared<const Library>(), kSecond);
  EXPECT_EQ(meter.read(), DeviceNoise{});
  use(FAKE_NVML_NEW);
  const DeviceNoise now = meter.read();
  EXPECT_GT(now.sm_mhz, 0);
  EXPECT_GT(now.power_w, 0);
}

TEST_F(FakeNvml, NoNvmlAndNoDriverAndNoGpuSayWhatIsMissing) {
  const auto failure = [](const char* bus) {
    return message_of([&] { GpuMeter(std::make_shared<const Library>(), bus); });
  };
  EXPECT_THAT(failure("0000:03:00.0"), HasSubstr("NVML knows no GPU at 0000:03:00.0"));
  use(FAKE_NVML_NEW, "no_driver");
  EXPECT_THAT(failure(kSecond), HasSubstr("NVML cannot be used: Driver Not Loaded (error 9"));
  use("/nowhere/libnvidia-ml.so.1");
  EXPECT_THAT(failure(kSecond), HasSubstr("NVML was not found (/nowhere/libnvidia-ml.so.1"));
  use("libm.so.6");
  EXPECT_THAT(failure(kSecond), HasSubstr("NVML cannot be used: no NVML (error 13 of libm.so.6)"));
}

TEST_F(FakeNvml, WatchingIsEmptyWhereThereIsNothingToWatch) {
  EXPECT_TRUE(watch_gpu(kSecond));
  EXPECT_EQ(watch_gpu(kSecond)().memory_mhz, 3201);
  EXPECT_FALSE(watch_gpu("0000:03:00.0"));
  use("/nowhere/libnvidia-ml.so.1");
  EXPECT_FALSE(watch_gpu(kSecond));
}

}  // namespace
}  // namespace headroom::nvml
