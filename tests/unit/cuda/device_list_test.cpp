// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/device_list.h"

#include <gtest/gtest.h>

namespace headroom::cuda {
namespace {

DeviceDescription gpu(const char* place, const char* name) {
  DeviceDescription device;
  device.pci_bus_id = place;
  device.name = name;
  return device;
}

TEST(DeviceList, WhatCudaSeesComesFirstWithWhatTheDriverTellsOfIt) {
  DeviceDescription seen = gpu("0000:c2:00.0", "NVIDIA H200");
  seen.l2_bytes = 60 << 20;
  seen.multiprocessors = 132;
  DeviceDescription told = gpu("00000000:C2:00.0", "NVIDIA H200");
  told.driver = "580.95.05";
  told.memory_bytes = 100;
  const auto all = merged({seen}, {gpu("00000000:01:00.0", "NVIDIA A100"), told});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].driver, "580.95.05");
  EXPECT_EQ(all[0].memory_bytes, 100);
  EXPECT_EQ(all[0].l2_bytes, 60 << 20);
  EXPECT_EQ(all[0].multiprocessors, 132);
  EXPECT_EQ(all[1].name, "NVIDIA A100") << "hidden by CUDA_VISIBLE_DEVICES, and still there";
}

TEST(DeviceList, AnInstanceOfASplitChipHasItsOwnShare) {
  DeviceDescription seen = gpu("0000:01:00.0", "NVIDIA H200 MIG 1g.18gb");
  seen.memory_bytes = 18;
  seen.multiprocessors = 16;
  DeviceDescription told = gpu("00000000:01:00.0", "NVIDIA H200");
  told.mig = "on";
  told.memory_bytes = 141;
  told.multiprocessors = 132;
  const auto all = merged({seen}, {told});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "NVIDIA H200 MIG 1g.18gb");
  EXPECT_EQ(all[0].memory_bytes, 18);
  EXPECT_EQ(all[0].multiprocessors, 16);
}

TEST(DeviceList, EachAlone) {
  EXPECT_EQ(merged({gpu("0000:01:00.0", "seen")}, {}).at(0).name, "seen");
  EXPECT_EQ(merged({}, {gpu("00000000:01:00.0", "told")}).at(0).name, "told");
  EXPECT_EQ(merged({gpu("", "placeless")}, {gpu("", "placeless too")}).size(), 2U);
}

}  // namespace
}  // namespace headroom::cuda
