// SPDX-License-Identifier: Apache-2.0
#include "headroom_nvml/gpu_list.h"

#include "fake_nvml.h"

namespace headroom::nvml {
namespace {

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

}  // namespace
}  // namespace headroom::nvml
