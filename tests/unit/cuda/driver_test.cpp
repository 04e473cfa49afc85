// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/driver.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DriverAnswers good() {
  DriverAnswers driver;
  driver.version = 13020;
  driver.devices = 1;
  driver.device_name = "NVIDIA H200";
  driver.compute_capability = 90;
  return driver;
}

TEST(DeviceProblem, NoneWhereTheDeviceCanBeUsed) {
  EXPECT_EQ(device_problem(good(), 13000), "");
  DriverAnswers older_minor = good();
  older_minor.version = 13000;
  EXPECT_EQ(device_problem(older_minor, 13010), "") << "drivers of a major version run all its runtimes";
}

TEST(DeviceProblem, AMissingDriverIsNamed) {
  DriverAnswers driver;
  driver.load_error = "libcuda.so.1: cannot open shared object file";
  EXPECT_THAT(device_problem(driver, 13000),
              AllOf(HasSubstr("libcuda.so.1 was not found"), HasSubstr("install NVIDIA's driver"),
                    HasSubstr("cannot open")));
}

TEST(DeviceProblem, AnOldDriverIsToldWithBothVersions) {
  DriverAnswers driver = good();
  driver.version = 11040;
  EXPECT_THAT(device_problem(driver, 13000),
              AllOf(HasSubstr("too old"), HasSubstr("supports CUDA 11.4"), HasSubstr("needs 13")));
}

TEST(DeviceProblem, WhatHidesTheDevicesIsNamed) {
  DriverAnswers driver = good();
  driver.devices = 0;
  EXPECT_THAT(device_problem(driver, 13000), HasSubstr("the driver finds none"));
  driver.visible = "";
  EXPECT_THAT(device_problem(driver, 13000), HasSubstr("CUDA_VISIBLE_DEVICES is empty"));
  driver.visible = "7";
  EXPECT_THAT(device_problem(driver, 13000), HasSubstr("CUDA_VISIBLE_DEVICES=7 selects none"));
  driver.init_status = CUDA_ERROR_NO_DEVICE;
  EXPECT_THAT(device_problem(driver, 13000), HasSubstr("CUDA_VISIBLE_DEVICES=7 selects none"));
}

TEST(DeviceProblem, AFailedStartIsTold) {
  DriverAnswers driver = good();
  driver.init_status = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  driver.init_error = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
  EXPECT_THAT(device_problem(driver, 13000),
              HasSubstr("cuInit failed with CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"));
}

TEST(DeviceProblem, ADeviceWithoutTheInstructionsIsRefused) {
  DriverAnswers driver = good();
  driver.device_name = "Tesla T4";
  driver.compute_capability = 75;
  EXPECT_THAT(device_problem(driver, 13000),
              AllOf(HasSubstr("Tesla T4"), HasSubstr("compute capability 7.5"), HasSubstr("needs 8.0")));
}

}  // namespace
}  // namespace headroom::cuda
