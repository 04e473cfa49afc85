// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/resident_blocks.h"

#include <gtest/gtest.h>

namespace headroom::cuda {
namespace {

trace::DeviceDescription hopper() {
  trace::DeviceDescription device;
  device.name = "NVIDIA H200";
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.max_threads_per_block = 1024;
  device.max_threads_per_multiprocessor = 2048;
  device.registers_per_block = device.registers_per_multiprocessor = 65536;
  device.shared_memory_per_block = 48 * 1024;
  device.shared_memory_per_block_optin = 227 * 1024;
  device.shared_memory_per_multiprocessor = 228 * 1024;
  return device;
}

std::int32_t blocks(std::int32_t threads, std::int32_t registers, std::int64_t shared_bytes = 0) {
  return resident_blocks(hopper(), {{1, 1, 1}, {threads, 1, 1}, registers, shared_bytes, 0});
}

TEST(ResidentBlocks, BoundByThreads) {
  EXPECT_EQ(blocks(1024, 32), 2);
  EXPECT_EQ(blocks(256, 32), 8);
  EXPECT_EQ(blocks(32, 16), 32) << "a multiprocessor holds 32 blocks at most";
}

TEST(ResidentBlocks, BoundByRegisters) {
  // 40 registers of 32 threads are 1280; a quarter of 65536 holds 12 such warps, four quarters 48: 6 blocks
  // of 8.
  EXPECT_EQ(blocks(256, 40), 6);
  EXPECT_EQ(blocks(1024, 64), 1);
  EXPECT_EQ(blocks(128, 255), 2);
}

TEST(ResidentBlocks, BoundBySharedMemory) {
  // Each block takes 1 KiB more than it asks for.
  EXPECT_EQ(blocks(128, 32, 100 * 1024), 2);
  EXPECT_EQ(blocks(128, 32, 113 * 1024), 2);
  EXPECT_EQ(blocks(128, 32, 114 * 1024), 1);
  EXPECT_EQ(blocks(128, 32, 227 * 1024), 1);
}

TEST(ResidentBlocks, UnknownDevicesGiveNone) {
  EXPECT_EQ(resident_blocks({}, {{1, 1, 1}, {128, 1, 1}, 32, 0, 0}), 0);
  trace::DeviceDescription later = hopper();
  later.compute_major = 99;
  EXPECT_EQ(resident_blocks(later, {{1, 1, 1}, {128, 1, 1}, 32, 0, 0}), 0);
}

}  // namespace
}  // namespace headroom::cuda
