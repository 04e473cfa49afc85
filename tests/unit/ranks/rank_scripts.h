// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "headroom/ranks/rank_group.h"

namespace headroom::test {

/// `script` has its channel as descriptor $LINES_FD.
inline RankCommand ranks(int count, const std::string& script) {
  RankCommand command;
  command.arguments = {"/bin/sh", "-c", script};
  command.channel_variable = "LINES_FD";
  command.ranks = count;
  return command;
}

/// The RankLost's message, or "nothing lost".
template <typename Body>
std::string loss_in(Body&& body) {
  try {
    body();
  } catch (const RankLost& lost) {
    return lost.what();
  }
  return "nothing lost";
}

inline sockaddr_in loopback(std::uint16_t port = 0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

class LeavesNoProcess : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "a process was left";
  }
};

}  // namespace headroom::test
