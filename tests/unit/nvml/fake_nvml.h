// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace headroom::nvml {

/// The library that stands in for the driver's, and what shall go wrong in it.
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

}  // namespace headroom::nvml
