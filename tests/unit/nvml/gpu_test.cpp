// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "../error_message.h"
#include "headroom_nvml/nvml.h"

namespace headroom::nvml {
namespace {

using test::message_of;
using testing::HasSubstr;

class FakeNvml : public testing::Test {
 protected:
  void SetUp() override { use(FAKE_NVML_NEW); }
  void TearDown() override {
    unsetenv("HEADROOM_NVML");
    unsetenv("FAKE_NVML");
  }
  static void use(const char* file, const char* words = "") {
    setenv("HEADROOM_NVML", file, 1);
    setenv("FAKE_NVML", words, 1);
  }
};

TEST_F(FakeNvml, EveryGpuIsDescribed) {
  const auto gpus = describe_gpus();
  ASSERT_EQ(gpus.size(), 2U);
  const DeviceDescription& gpu = gpus[1];
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.uuid, "GPU-77aa");
  EXPECT_EQ(gpu.pci_bus_id, "00000000:02:00.0");
  EXPECT_EQ(gpu.driver, "580.95.05");
  EXPECT_EQ(gpu.cuda, "13.0");
  EXPECT_EQ(gpu.compute_capability, "9.0");
  EXPECT_EQ(gpu.memory_bytes, std::int64_t{143771} << 20);
  EXPECT_EQ(gpu.multiprocessors, 132);
  EXPECT_EQ(gpu.memory_bus_bits, 6144);
  EXPECT_EQ(gpu.max_sm_mhz, 1980);
  EXPECT_EQ(gpu.max_memory_mhz, 3201);
  EXPECT_EQ(gpu.power_limit_w, 700);
  EXPECT_EQ(gpu.ecc, "on");
  EXPECT_EQ(gpu.mig, "off");
}

TEST_F(FakeNvml, WhatADriverDoesNotTellOfAGpuIsLeftOut) {
  use(FAKE_NVML_NEW, "mute");
  const auto gpus = describe_gpus();
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(gpus[0].compute_capability, "");
  EXPECT_EQ(gpus[0].memory_bytes, 0);
  EXPECT_EQ(gpus[0].multiprocessors, 0);
  EXPECT_EQ(gpus[0].ecc, "");
}

TEST_F(FakeNvml, WithoutADriverThereAreNone) {
  use(FAKE_NVML_NEW, "no_driver");
  EXPECT_TRUE(describe_gpus().empty());
  use("/nowhere/libnvidia-ml.so.1");
  EXPECT_TRUE(describe_gpus().empty());
}

constexpr const char* kSecond = "0000:02:00.0";  // CUDA's form

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
  EXPECT_THAT(failure("0000:03:00.0"), HasSubstr("NVML finds no GPU at 0000:03:00.0"));
  use(FAKE_NVML_NEW, "no_driver");
  EXPECT_THAT(failure(kSecond), HasSubstr("cannot use NVML: Driver Not Loaded (error 9"));
  use("/nowhere/libnvidia-ml.so.1");
  EXPECT_THAT(failure(kSecond), HasSubstr("NVML was not found (/nowhere/libnvidia-ml.so.1"));
  use("libm.so.6");
  EXPECT_THAT(failure(kSecond), HasSubstr("cannot use NVML: no NVML (error 13 of libm.so.6)"));
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
