// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../error_message.h"
#include "child_of_test.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/process/spawn.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

std::string error_of(const SpawnOptions& options) {
  return test::message_of([&] { const Child child(options); });
}

std::string error_of(const std::string& program) {
  SpawnOptions options;
  options.arguments = {program};
  return error_of(options);
}

/// Whether the process runs: a zombie that its new parent has not reaped yet has ended.
bool runs(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  return std::getline(file, text) && text.find(") Z ") == std::string::npos;
}

bool ends_soon(pid_t pid) {
  for (int i = 0; i < 500 && runs(pid); ++i) std::this_thread::sleep_for(milliseconds(4));
  return !runs(pid);
}

pid_t printed_pid(Child& child) {
  for (int i = 0; i < 500 && child.stdout_lines().lines().empty(); ++i) {
    child.drain();
    std::this_thread::sleep_for(milliseconds(2));
  }
  const auto lines = child.stdout_lines().lines();
  return lines.empty() ? -1 : static_cast<pid_t>(to_integer(lines[0]).value_or(-1));
}

class SpawnFault : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/headroom_spawn_XXXXXX";
    folder_ = ::mkdtemp(name);
    before_ = test::open_descriptors();
  }
  void TearDown() override {
    EXPECT_EQ(test::open_descriptors(), before_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    std::filesystem::remove_all(folder_);
  }
  std::string make_file(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  std::filesystem::path folder_;

 private:
  std::size_t before_ = 0;
};

TEST_F(SpawnFault, ProgramsThatCannotBeStarted) {
  EXPECT_THAT(error_of("no-such-program-anywhere"),
              HasSubstr("'no-such-program-anywhere': not found in PATH"));
  EXPECT_THAT(error_of("./no/such/program"), HasSubstr("no such file"));
  EXPECT_THAT(error_of("/tmp"), HasSubstr("it is a folder"));
  EXPECT_THAT(error_of(make_file("plain", "#!/bin/sh\n", 0644)), HasSubstr("not executable"));
  EXPECT_THAT(error_of(make_file("text", "just words\n", 0755)), HasSubstr("not a program for this machine"));
  EXPECT_THAT(error_of(make_file("orphan", "#!/no/such/interpreter\n", 0755)), HasSubstr("interpreter"));
  EXPECT_THAT(error_of(SpawnOptions{}), HasSubstr("name is empty"));
}

TEST_F(SpawnFault, BadArgumentsAndDescriptors) {
  SpawnOptions options = test::shell(std::string("a\0b", 3));
  EXPECT_THAT(error_of(options), HasSubstr("zero byte"));
  options = test::shell("true");
  options.descriptors = {{987, 5}};
  EXPECT_THAT(error_of(options), HasSubstr("descriptor 987"));
  options.descriptors = {{0, 1}};
  EXPECT_THAT(error_of(options), HasSubstr("numbered 1"));
  options.descriptors = {{0, 100000}};
  EXPECT_THAT(error_of(options), HasSubstr("numbered 100000"));
}

TEST_F(SpawnFault, ACrashIsToldWithItsSignal) {
  Child child(test::shell("echo about to crash >&2; kill -SEGV $$"));
  const auto status = child.wait(test::kLongestWait);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->text(), "killed by signal 11 (Segmentation fault)");
  EXPECT_THAT(child.stderr_lines().lines(), ElementsAre("about to crash"));
}

TEST_F(SpawnFault, AChildThatHangsTimesOutAndItsWholeGroupEnds) {
  Child child(test::shell("sleep 30 & echo $!; wait"));
  const pid_t grandchild = printed_pid(child);
  ASSERT_GT(grandchild, 0);
  EXPECT_FALSE(child.wait(milliseconds(20)));
  EXPECT_EQ(child.terminate().text(), "killed by signal 15 (Terminated)");
  EXPECT_TRUE(ends_soon(grandchild));
}

TEST_F(SpawnFault, AChildThatIgnoresTermIsKilledAfterTheGrace) {
  Child child(test::shell("trap '' TERM; echo $$; while :; do sleep 0.5; done"));
  ASSERT_GT(printed_pid(child), 0);
  const auto start = Clock::now();
  EXPECT_EQ(child.terminate(milliseconds(50)).text(), "killed by signal 9 (Killed)");
  EXPECT_GE(Clock::now() - start, milliseconds(50));
  EXPECT_LT(Clock::now() - start, milliseconds(3000));
}

TEST_F(SpawnFault, AChildThatCleansUpOnTermMaySayHowItEnded) {
  Child child(test::shell("trap 'echo cleaned; exit 7' TERM; echo $$; while :; do sleep 0.01; done"));
  ASSERT_GT(printed_pid(child), 0);
  EXPECT_EQ(child.terminate(test::kLongestWait).text(), "exit code 7");
  EXPECT_EQ(child.stdout_lines().lines().back(), "cleaned");
}

TEST_F(SpawnFault, AStoppedChildIsTerminated) {
  Child child(test::shell("echo $$; sleep 30"));
  ASSERT_GT(printed_pid(child), 0);
  ASSERT_EQ(::kill(child.pid(), SIGSTOP), 0);
  EXPECT_EQ(child.terminate(test::kLongestWait).text(), "killed by signal 15 (Terminated)");
}

TEST_F(SpawnFault, TheDestructorKillsTheGroup) {
  pid_t grandchild = -1;
  {
    Child child(test::shell("trap '' TERM; sleep 30 & echo $!; wait"));
    grandchild = printed_pid(child);
    ASSERT_GT(grandchild, 0);
    EXPECT_TRUE(runs(grandchild));
  }
  EXPECT_TRUE(ends_soon(grandchild));
}

TEST_F(SpawnFault, ADaemonThatKeepsThePipesOpenIsNotWaitedFor) {
  const auto start = Clock::now();
  Child child(test::shell("setsid sleep 30 & echo $!; exit 0"));
  const auto status = child.wait(milliseconds(-1));
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->ok());
  EXPECT_LT(Clock::now() - start, milliseconds(5000));
  const pid_t daemon = printed_pid(child);
  ASSERT_GT(daemon, 0);
  ::kill(daemon, SIGKILL);
}

TEST_F(SpawnFault, WhatTheChildLeavesInItsGroupEndsWithIt) {
  Child child(test::shell("sleep 30 & echo $!; exit 4"));
  const auto status = child.wait(test::kLongestWait);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 4);
  EXPECT_TRUE(ends_soon(printed_pid(child)));
}

TEST_F(SpawnFault, AFloodOfOutputIsDrainedInConstantMemory) {
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  Child child(test::shell("yes | head -c 200000000; echo; echo end; head -c 50000000 /dev/zero >&2"));
  const auto status = child.wait(test::kLongestWait);
  ::getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(status);
  EXPECT_EQ(child.stdout_lines().total_bytes(), 200000005U);
  EXPECT_EQ(child.stderr_lines().total_bytes(), 50000000U);
  EXPECT_EQ(child.stdout_lines().lines().back(), "end");
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 * 1024) << "KiB more than before";
}

TEST_F(SpawnFault, AnEndlessWriterNeitherTrapsDrainNorDelaysTheTimeout) {
  SpawnOptions options;
  options.arguments = {"yes"};
  Child child(options);
  const auto start = Clock::now();
  child.drain();
  EXPECT_FALSE(child.wait(milliseconds(50)));
  EXPECT_EQ(child.terminate().text(), "killed by signal 15 (Terminated)");
  EXPECT_LT(Clock::now() - start, milliseconds(3000));
  EXPECT_GT(child.stdout_lines().total_bytes(), 100000U);
}

TEST_F(SpawnFault, AChildThatClosesItsOutputIsStillWaitedFor) {
  Child child(test::shell("exec >&- 2>&-; sleep 0.05; exit 9"));
  const auto status = child.wait(test::kLongestWait);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 9);
  EXPECT_EQ(child.stdout_fd(), -1);
  EXPECT_EQ(child.stderr_fd(), -1);
}

TEST_F(SpawnFault, WithSigchldIgnoredTheEndIsSeenAllTheSame) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
  {
    Child child(test::shell("exit 0"));
    const auto status = child.wait(test::kLongestWait);
    ASSERT_TRUE(status);
    EXPECT_FALSE(status->ok()) << "success must not be claimed where it was not seen";
  }
  ::sigaction(SIGCHLD, &before, nullptr);
}

}  // namespace
}  // namespace headroom
