// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/exit_status.h"

#include <gtest/gtest.h>

#include <csignal>

namespace headroom {
namespace {

ExitStatus status(bool signalled, int code) {
  ExitStatus result;
  result.signalled = signalled;
  result.code = code;
  return result;
}

TEST(ExitStatus, TextNamesCodeOrSignal) {
  EXPECT_EQ(status(false, 0).text(), "exit code 0");
  EXPECT_EQ(status(false, 3).text(), "exit code 3");
  EXPECT_EQ(status(true, SIGSEGV).text(), "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(status(true, SIGKILL).text(), "killed by signal 9 (Killed)");
  EXPECT_NE(status(true, SIGRTMIN + 2).text().find("real-time signal"), std::string::npos);
  EXPECT_NE(status(false, -1).text().find("unknown"), std::string::npos);
}

TEST(ExitStatus, OnlyExitCodeZeroIsOk) {
  EXPECT_TRUE(status(false, 0).ok());
  EXPECT_FALSE(status(false, 1).ok());
  EXPECT_FALSE(status(true, SIGTERM).ok());
  EXPECT_FALSE(status(false, -1).ok());
}

}  // namespace
}  // namespace headroom
