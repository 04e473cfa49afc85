// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <set>

#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

DriverInfo good() {
  DriverInfo driver;
  driver.version = 13020;
  driver.devices = 1;
  driver.device_name = "NVIDIA H200";
  driver.compute_capability = 90;
  return driver;
}

TEST(DeviceProblem, NoneWhereTheDeviceCanBeUsed) {
  EXPECT_EQ(device_problem(good(), 13000), "");
  DriverInfo older_minor = good();
  older_minor.version = 13000;
  EXPECT_EQ(device_problem(older_minor, 13010), "") << "drivers of a major version run all its runtimes";
}

TEST(DeviceProblem, IsNamedWithWhatToDo) {
  struct Problem {
    std::function<void(DriverInfo&)> change;
    testing::Matcher<std::string> expected;
  };
  const Problem problems[] = {
      {[](DriverInfo& driver) { driver.load_error = "libcuda.so.1: cannot open shared object file"; },
       AllOf(HasSubstr("libcuda.so.1 was not found"), HasSubstr("install NVIDIA's driver"),
             HasSubstr("cannot open"))},
      {[](DriverInfo& driver) { driver.version = 11040; },
       AllOf(HasSubstr("too old"), HasSubstr("supports CUDA 11.4"), HasSubstr("needs 13"))},
      {[](DriverInfo& driver) { driver.devices = 0; }, HasSubstr("the driver finds none")},
      {[](DriverInfo& driver) { driver.devices = 0, driver.visible = ""; },
       HasSubstr("CUDA_VISIBLE_DEVICES is empty")},
      {[](DriverInfo& driver) { driver.devices = 0, driver.visible = "7"; },
       HasSubstr("CUDA_VISIBLE_DEVICES=7 selects no")},
      {[](DriverInfo& driver) { driver.init_status = CUDA_ERROR_NO_DEVICE, driver.visible = "7"; },
       HasSubstr("CUDA_VISIBLE_DEVICES=7 selects no")},
      {[](DriverInfo& driver) {
         driver.init_status = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
         driver.init_error = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
       },
       HasSubstr("cuInit failed with CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")},
      {[](DriverInfo& driver) { driver.device_name = "Tesla T4", driver.compute_capability = 75; },
       AllOf(HasSubstr("Tesla T4"), HasSubstr("compute capability 7.5"), HasSubstr("needs 8.0"))}};
  for (const Problem& problem : problems) {
    DriverInfo driver = good();
    problem.change(driver);
    EXPECT_THAT(device_problem(driver, 13000), problem.expected);
  }
}

std::vector<std::size_t> copies_of(const std::vector<GraphRuns>& plan, std::size_t copies) {
  std::vector<std::size_t> order;
  for (const GraphRuns& part : plan) {
    for (std::uint64_t run = 0; run < part.runs; ++run) {
      for (std::size_t i = 0; i < part.shape.launches; ++i)
        order.push_back((part.shape.first_copy + i) % copies);
    }
  }
  return order;
}

std::vector<std::size_t> in_turn(std::uint64_t iterations, std::size_t first, std::size_t copies) {
  std::vector<std::size_t> order;
  for (std::uint64_t i = 0; i < iterations; ++i) order.push_back((first + i) % copies);
  return order;
}

TEST(SamplePlan, RepeatsOneGraphOfWholeTurns) {
  // 3 copies, at most 8 launches: a graph of two turns.
  EXPECT_THAT(plan_sample(20, 0, 3, 8), ElementsAre(GraphRuns{{0, 6}, 3}, GraphRuns{{0, 2}, 1}));
  EXPECT_THAT(plan_sample(1000, 0, 1, 256), ElementsAre(GraphRuns{{0, 256}, 3}, GraphRuns{{0, 232}, 1}));
}

TEST(SamplePlan, GoesOnWhereTheLastSampleEnded) {
  EXPECT_THAT(plan_sample(15, 2, 3, 8),
              ElementsAre(GraphRuns{{2, 4}, 1}, GraphRuns{{0, 6}, 1}, GraphRuns{{0, 5}, 1}));
  EXPECT_EQ(copy_after(2, 15, 3), 2U);
  EXPECT_EQ(copy_after(2, 16, 3), 0U);
}

TEST(SamplePlan, CutsALongTurnIntoGraphsOfAboutEqualLength) {
  EXPECT_THAT(plan_sample(20, 0, 10, 4),
              ElementsAre(GraphRuns{{0, 3}, 1}, GraphRuns{{3, 3}, 1}, GraphRuns{{6, 4}, 1},
                          GraphRuns{{0, 3}, 1}, GraphRuns{{3, 3}, 1}, GraphRuns{{6, 4}, 1}));
}

TEST(SamplePlan, NothingIsOfNoGraphs) {
  EXPECT_THAT(plan_sample(0, 0, 3, 8), IsEmpty());
}

TEST(SamplePlan, LaunchesOnEachCopyInTurnForEveryCountAndStart) {
  for (const std::size_t copies : {1U, 2U, 3U, 7U, 8U, 9U, 20U, 31U}) {
    for (const std::size_t most : {1U, 2U, 5U, 8U}) {
      for (std::size_t first = 0; first < copies; ++first) {
        for (const std::uint64_t iterations : {1U, 2U, 7U, 8U, 9U, 40U, 63U}) {
          const std::vector<GraphRuns> plan = plan_sample(iterations, first, copies, most);
          ASSERT_EQ(copies_of(plan, copies), in_turn(iterations, first, copies))
              << iterations << " from " << first << " of " << copies << ", at most " << most;
          for (const GraphRuns& part : plan) ASSERT_LE(part.shape.launches, most);
        }
      }
    }
  }
}

TEST(SamplePlan, FewGraphsServeManySamples) {
  std::set<GraphShape> shapes;
  std::size_t first = 0;
  for (int sample = 0; sample < 1000; ++sample) {
    for (const GraphRuns& part : plan_sample(777, first, 120, 256)) shapes.insert(part.shape);
    first = copy_after(first, 777, 120);
  }
  // One of 120 / gcd(777, 120) = 40 first copies: one graph of whole turns, two remainders each.
  EXPECT_LE(shapes.size(), 81U);
}

// Planted for tools/check_device.sh: the memory checker must find it.
TEST(PlantedError, ASetBehindTheEndOfABuffer) {
  if (std::getenv("HEADROOM_PLANTED_ERROR") == nullptr)
    GTEST_SKIP() << "it needs a GPU and a checker: tools/check_device.sh sets HEADROOM_PLANTED_ERROR";
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 256), cudaSuccess);
  EXPECT_NE(cudaMemset(memory, 0, std::size_t{1} << 40), cudaSuccess);
  cudaGetLastError();
  cudaFree(memory);
}

}  // namespace
}  // namespace headroom::cuda
