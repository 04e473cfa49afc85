// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "child_of_test.h"
#include "headroom/process/channel.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

/// Each test leaves as many descriptors and children as it found.
class Spawn : public testing::Test {
 protected:
  void SetUp() override { before_ = test::open_descriptors(); }
  void TearDown() override {
    EXPECT_EQ(test::open_descriptors(), before_);
    EXPECT_FALSE(has_children());
  }

 private:
  std::size_t before_ = 0;
};

TEST_F(Spawn, OutputAndExitCode) {
  Child child(test::shell("echo out; echo err >&2; exit 3"));
  const auto status = child.wait(test::kLongestWait);
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->ok());
  EXPECT_EQ(status->text(), "exit code 3");
  EXPECT_THAT(child.stdout_lines().lines(), ElementsAre("out"));
  EXPECT_THAT(child.stderr_lines().lines(), ElementsAre("err"));
  EXPECT_EQ(child.poll_exit()->code, 3) << "the status stays";
  EXPECT_EQ(child.terminate().code, 3);
}

TEST_F(Spawn, FindsProgramsInPathAndPassesArgumentsAsTheyAre) {
  SpawnOptions options;
  options.arguments = {"printf", "%s|", "a b", "", "$HOME", "*"};
  Child child(options);
  ASSERT_TRUE(child.wait(test::kLongestWait));
  EXPECT_THAT(child.stdout_lines().lines(), ElementsAre("a b||$HOME|*|"));
}

TEST_F(Spawn, StandardInputIsEmpty) {
  SpawnOptions options;
  options.arguments = {"cat"};
  Child child(options);
  const auto status = child.wait(test::kLongestWait);
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->ok());
}

TEST_F(Spawn, EnvironmentIsAddedAndReplaced) {
  ::setenv("HEADROOM_TEST_KEPT", "kept", 1);
  ::setenv("HEADROOM_TEST_OLD", "old", 1);
  SpawnOptions options =
      test::shell("echo $HEADROOM_TEST_KEPT $HEADROOM_TEST_OLD $HEADROOM_TEST_NEW; env | grep -c TEST_OLD");
  options.environment = {{"HEADROOM_TEST_OLD", "replaced"}, {"HEADROOM_TEST_NEW", "a=b"}};
  Child child(options);
  ASSERT_TRUE(child.wait(test::kLongestWait));
  EXPECT_THAT(child.stdout_lines().lines(), ElementsAre("kept replaced a=b", "1"));
  EXPECT_STREQ(::getenv("HEADROOM_TEST_OLD"), "old");
  ::unsetenv("HEADROOM_TEST_KEPT");
  ::unsetenv("HEADROOM_TEST_OLD");
}

TEST_F(Spawn, HasAProcessGroupOfItsOwn) {
  Child child(test::shell("sleep 30"));
  EXPECT_EQ(::getpgid(child.pid()), child.pid());
  EXPECT_NE(::getpgrp(), child.pid());
}

TEST_F(Spawn, OnlyTheDescriptorsAskedForReachTheChild) {
  // Without close-on-exec, as a descriptor that a careless parent left to us; below and above those asked
  // for.
  const int low = ::open("/dev/null", O_RDONLY);
  const int high = ::fcntl(low, F_DUPFD, 200);
  {
    auto [ours, theirs] = Channel::pair();
    SpawnOptions options = test::shell("ls /proc/self/fd; echo through the channel >&7");
    options.descriptors = {{theirs.fd(), 7}};
    Child child(options);
    ASSERT_TRUE(child.wait(test::kLongestWait));
    // 3 is the folder that ls itself reads.
    EXPECT_THAT(child.stdout_lines().lines(), ElementsAre("0", "1", "2", "3", "7"));
    std::string line;
    EXPECT_EQ(ours.read_line(line, test::kLongestWait), Channel::Status::kLine);
    EXPECT_EQ(line, "through the channel");
  }
  ::close(low);
  ::close(high);
}

TEST_F(Spawn, DescriptorsMayBeSwapped) {
  int first[2], second[2];
  ASSERT_EQ(::pipe2(first, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(second, O_CLOEXEC), 0);
  SpawnOptions options = test::shell(std::string("echo one >&") + std::to_string(second[1]) +
                                     "; echo two >&" + std::to_string(first[1]));
  options.descriptors = {{first[1], second[1]}, {second[1], first[1]}};
  Child child(options);
  ASSERT_TRUE(child.wait(test::kLongestWait));
  char text[4] = {};
  EXPECT_EQ(::read(first[0], text, 4), 4);
  EXPECT_EQ(std::string(text, 3), "one");
  EXPECT_EQ(::read(second[0], text, 4), 4);
  EXPECT_EQ(std::string(text, 3), "two");
  for (const int fd : {first[0], first[1], second[0], second[1]}) ::close(fd);
}

TEST_F(Spawn, SignalsOfTheChildAreDefaultAndUnblocked) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGPIPE, &ignore, &before), 0);
  sigset_t blocked, mask_before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before), 0);
  Child child(test::shell("awk '/Sig(Blk|Ign)/ { print $2 }' /proc/self/status"));
  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  ASSERT_TRUE(child.wait(test::kLongestWait));
  const std::vector<std::string> masks = child.stdout_lines().lines();
  ASSERT_EQ(masks.size(), 2U);
  EXPECT_EQ(masks[0], "0000000000000000");
  // Numbers above 31 are left out: the C library keeps 32 and 33 to itself.
  EXPECT_EQ(std::stoull(masks[1], nullptr, 16) & 0x7FFFFFFF, 0U) << masks[1];
}

TEST_F(Spawn, UsageIsTheChilds) {
  Child child(test::shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"));
  const auto status = child.wait(test::kLongestWait);
  ASSERT_TRUE(status);
  EXPECT_GT(status->usage.ru_utime.tv_sec * 1000000 + status->usage.ru_utime.tv_usec, 0);
  EXPECT_GT(status->usage.ru_maxrss, 100);
}

TEST_F(Spawn, PollNeverBlocksAndTheExitDescriptorTells) {
  Child child(test::shell("sleep 0.05"));
  EXPECT_FALSE(child.poll_exit());
  EXPECT_FALSE(child.wait(milliseconds(0)));
  if (child.exit_fd() >= 0) {
    pollfd entry{child.exit_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 10000), 1);
    EXPECT_TRUE(child.poll_exit());
  }
  ASSERT_TRUE(child.wait(milliseconds(-1)));
  EXPECT_TRUE(child.poll_exit()->ok());
}

TEST_F(Spawn, MovesKeepTheChild) {
  std::optional<Child> first(test::shell("echo first; sleep 30"));
  const pid_t pid = first->pid();
  Child moved = std::move(*first);
  first.reset();
  EXPECT_EQ(moved.pid(), pid);
  EXPECT_EQ(::kill(pid, 0), 0) << "the husk's destructor must not touch the child";
  moved = Child(test::shell("echo second"));
  EXPECT_EQ(::kill(pid, 0), -1) << "what it held before is killed and reaped";
  ASSERT_TRUE(moved.wait(test::kLongestWait));
  EXPECT_THAT(moved.stdout_lines().lines(), ElementsAre("second"));
}

TEST_F(Spawn, ManyChildrenLeaveNothingBehind) {
  for (int i = 0; i < 40; ++i) {
    Child child(test::shell(i % 2 == 0 ? "exit 0" : "sleep 30"));
    if (i % 4 == 0) {
      EXPECT_TRUE(child.wait(test::kLongestWait));
    }
  }
}

}  // namespace
}  // namespace headroom
