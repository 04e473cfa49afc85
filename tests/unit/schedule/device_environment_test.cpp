// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/device_environment.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(DeviceEnvironment, IsTheSameObjectWhereNoRunnerHasADevice) {
  const auto environment = std::make_shared<const Environment>();
  EXPECT_EQ(with_devices(environment, {RunnerOffer{}}), environment);
  EXPECT_EQ(with_devices(nullptr, {RunnerOffer{}}), nullptr);
}

TEST(DeviceEnvironment, TheMachineHasTheGpusOfTheRunnerThatTellsOfThem) {
  auto environment = std::make_shared<Environment>();
  environment->fingerprint = "zen4-2c-1";
  environment->machines.resize(1);
  environment->machines[0].name = "cpu";
  RunnerOffer offer;
  offer.devices.resize(2);
  for (DeviceDescription& device : offer.devices) {
    device.name = "NVIDIA H200";
    device.memory_bytes = std::int64_t{140} << 30;
  }
  offer.devices[0].driver = "580.95.05";
  offer.devices[0].l2_bytes = 60 << 20;
  offer.devices[0].power_limit_w = 700;
  const auto completed = with_devices(environment, {RunnerOffer{}, offer});
  EXPECT_EQ(completed->fingerprint, "zen4-2c-1");
  const Environment::Runner& machine = completed->machines.at(0);
  EXPECT_EQ(machine.name, "cpu");
  EXPECT_EQ(machine.gpu_info, "NVIDIA H200");
  EXPECT_EQ(machine.gpu_count, 2U);
  EXPECT_EQ(machine.gpu_mem_info, "140 GiB");
  EXPECT_EQ(machine.avail_gpu_mem_in_gb, 280U);
  EXPECT_EQ(machine.extra_info.at("gpu_driver"), "580.95.05");
  EXPECT_EQ(machine.extra_info.at("gpu_l2"), "60 MiB");
  EXPECT_EQ(machine.extra_info.at("gpu_power_limit_w"), "700");
  EXPECT_FALSE(machine.extra_info.contains("gpu_mig")) << "nobody told";
  EXPECT_EQ(environment->machines[0].gpu_count, 0U) << "the one that was given stays as it is";
}

}  // namespace
}  // namespace headroom
