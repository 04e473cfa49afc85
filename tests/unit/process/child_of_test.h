// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include "headroom/process/spawn.h"

namespace headroom::test {

/// How long a test waits for a child that is to end by itself.
inline constexpr std::chrono::milliseconds kLongestWait(10000);

inline SpawnOptions shell(const std::string& script) {
  SpawnOptions options;
  options.arguments = {"/bin/sh", "-c", script};
  return options;
}

/// The descriptors that this process has open: as many before a child as after it.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace headroom::test
