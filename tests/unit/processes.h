// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace headroom::test {

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// False for a zombie not yet reaped.
inline bool runs(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  return std::getline(file, text) && text.find(") Z ") == std::string::npos;
}

inline bool ends_soon(std::int64_t pid) {
  for (int i = 0; i < 2500 && runs(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(4));
  return !runs(pid);
}

/// Tests must leave no descriptors or children.
class LeavesNothing : public testing::Test {
 protected:
  void SetUp() override { before_ = open_descriptors(); }
  void TearDown() override {
    EXPECT_EQ(open_descriptors(), before_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "a process was left";
  }

 private:
  std::size_t before_ = 0;
};

}  // namespace headroom::test
