// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/gpu_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file_tree.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kInformation =
    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 194\nGPU UUID: \t GPU-0c1b\nBus Location: \t 0000:01:00.0\n";

TEST(GpuFiles, AMachineWithoutOneHasNone) {
  const FileTree tree;
  EXPECT_THAT(read_gpu_files(tree.root()).kinds, IsEmpty());
  EXPECT_THAT(read_gpu_files("/nowhere").kinds, IsEmpty());
}

TEST(GpuFiles, ThePciBusSaysWhatTheDriverHasTaken) {
  FileTree tree;
  const std::string pci = "sys/bus/pci/drivers/nvidia/";
  tree.file(pci + "bind", "").file(pci + "module/version", "580.95.05\n");
  tree.file(pci + "0000:02:00.0/vendor", "0x10de\n").file(pci + "0000:02:00.0/device", "0x2335\n");
  tree.file(pci + "0000:01:00.0/vendor", "0x10de\n").file(pci + "0000:01:00.0/device", "0x20b0\n");
  tree.file("proc/driver/nvidia/gpus/0000:01:00.0/information", kInformation);
  tree.file("dev/nvidia0", "");
  const GpuFiles found = read_gpu_files(tree.root());
  EXPECT_THAT(found.kinds, ElementsAre("10de:20b0", "10de:2335"));
  EXPECT_THAT(found.names, ElementsAre("NVIDIA H200"));
}

TEST(GpuFiles, ContainersShowLess) {
  FileTree named;
  named.file("proc/driver/nvidia/gpus/0000:01:00.0/information", kInformation);
  named.file("proc/driver/nvidia/gpus/0000:02:00.0/information", "IRQ: 1\n");
  EXPECT_THAT(read_gpu_files(named.root()).kinds, ElementsAre("NVIDIA H200"));
  FileTree bare;
  bare.file("dev/nvidia0", "").file("dev/nvidia11", "").file("dev/nvidiactl", "").file("dev/nvidia-uvm", "");
  bare.file("dev/nvidia", "");
  const GpuFiles found = read_gpu_files(bare.root());
  EXPECT_THAT(found.kinds, ElementsAre("nvidia", "nvidia"));
  EXPECT_THAT(found.names, IsEmpty());
}

}  // namespace
}  // namespace headroom
