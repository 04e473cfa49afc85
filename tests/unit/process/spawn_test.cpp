// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "../error_message.h"
#include "../file_tree.h"
#include "../processes.h"
#include "headroom/base/text.h"
#include "headroom/process/affinity.h"
#include "headroom/process/channel.h"
#include "headroom/process/spawn.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using namespace testing;

constexpr std::chrono::milliseconds kLongestWait(10000);

SpawnOptions shell(const std::string& script) {
  SpawnOptions options;
  options.arguments = {"/bin/sh", "-c", script};
  return options;
}

using Spawn = test::LeavesNothing;

ExitStatus ended(Child& child) {
  return child.wait(kLongestWait).value();
}

TEST_F(Spawn, OutputAndExitCode) {
  Child child(shell("echo out; echo err >&2; exit 3"));
  const ExitStatus status = ended(child);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.text(), "exit code 3");
  EXPECT_THAT(child.stdout_lines().lines(), ElementsAre("out"));
  EXPECT_THAT(child.stderr_lines().lines(), ElementsAre("err"));
  EXPECT_EQ(child.poll_exit()->code, 3) << "the status stays";
  EXPECT_EQ(child.terminate().code, 3);
}

TEST_F(Spawn, FindsProgramsInPathAndPassesArgumentsAsTheyAre) {
  SpawnOptions options;
  options.arguments = {"printf", "%s|", "a b", "", "$HOME", "*"};
  Child child(options);
  ASSERT_TRUE(child.wait(kLongestWait));
  EXPECT_THAT(child.stdout_lines().lines(), ElementsAre("a b||$HOME|*|"));
}

TEST_F(Spawn, StandardInputIsEmpty) {
  SpawnOptions options;
  options.arguments = {"cat"};
  Child child(options);
  EXPECT_TRUE(ended(child).ok());
}

TEST_F(Spawn, EnvironmentIsAddedAndReplaced) {
  ::setenv("HEADROOM_TEST_KEPT", "kept", 1);
  ::setenv("HEADROOM_TEST_OLD", "old", 1);
  SpawnOptions options =
      shell("echo $HEADROOM_TEST_KEPT $HEADROOM_TEST_OLD $HEADROOM_TEST_NEW; env | grep -c TEST_OLD");
  options.environment = {{"HEADROOM_TEST_OLD", "replaced"}, {"HEADROOM_TEST_NEW", "a=b"}};
  Child child(options);
  ASSERT_TRUE(child.wait(kLongestWait));
  EXPECT_THAT(child.stdout_lines().lines(), ElementsAre("kept replaced a=b", "1"));
  EXPECT_STREQ(::getenv("HEADROOM_TEST_OLD"), "old");
  ::unsetenv("HEADROOM_TEST_KEPT");
  ::unsetenv("HEADROOM_TEST_OLD");
}

TEST_F(Spawn, HasAProcessGroupOfItsOwn) {
  Child child(shell("sleep 30"));
  EXPECT_EQ(::getpgid(child.pid()), child.pid());
  EXPECT_NE(::getpgrp(), child.pid());
}

TEST_F(Spawn, OnlyTheDescriptorsAskedForReachTheChild) {
  // Leaked by our parent, below and above the requested ones.
  const int low = ::open("/dev/null", O_RDONLY);
  const int high = ::fcntl(low, F_DUPFD, 200);
  {
    auto [ours, theirs] = Channel::pair();
    SpawnOptions options = shell("ls /proc/self/fd; echo through the channel >&7");
    options.descriptors = {{theirs.fd(), 7}};
    Child child(options);
    ASSERT_TRUE(child.wait(kLongestWait));
    EXPECT_THAT(child.stdout_lines().lines(), ElementsAre("0", "1", "2", "3", "7"));
    std::string line;
    EXPECT_EQ(ours.read_line(line, kLongestWait), Channel::Status::kLine);
    EXPECT_EQ(line, "through the channel");
  }
  ::close(low);
  ::close(high);
}

TEST_F(Spawn, DescriptorsMayBeSwapped) {
  int first[2], second[2];
  ASSERT_EQ(::pipe2(first, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(second, O_CLOEXEC), 0);
  SpawnOptions options = shell(std::string("echo one >&") + std::to_string(second[1]) + "; echo two >&" +
                               std::to_string(first[1]));
  options.descriptors = {{first[1], second[1]}, {second[1], first[1]}};
  Child child(options);
  ASSERT_TRUE(child.wait(kLongestWait));
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
  Child child(shell("awk '/Sig(Blk|Ign)/ { print $2 }' /proc/self/status"));
  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  ASSERT_TRUE(child.wait(kLongestWait));
  const std::vector<std::string> masks = child.stdout_lines().lines();
  ASSERT_EQ(masks.size(), 2U);
  EXPECT_EQ(masks[0], "0000000000000000");
  // Ignores signals above 31: the C library reserves 32 and 33.
  EXPECT_EQ(std::stoull(masks[1], nullptr, 16) & 0x7FFFFFFF, 0U) << masks[1];
}

TEST_F(Spawn, UsageIsTheChilds) {
  Child child(shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"));
  const ExitStatus status = ended(child);
  EXPECT_GT(status.usage.ru_utime.tv_sec * 1000000 + status.usage.ru_utime.tv_usec, 0);
  EXPECT_GT(status.usage.ru_maxrss, 100);
}

TEST_F(Spawn, PollNeverBlocksAndTheExitDescriptorTells) {
  Child child(shell("sleep 0.05"));
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
  std::optional<Child> first(shell("echo first; sleep 30"));
  const pid_t pid = first->pid();
  Child moved = std::move(*first);
  first.reset();
  EXPECT_EQ(moved.pid(), pid);
  EXPECT_EQ(::kill(pid, 0), 0) << "the husk's destructor must not touch the child";
  moved = Child(shell("echo second"));
  EXPECT_EQ(::kill(pid, 0), -1) << "what it held before is killed and reaped";
  ASSERT_TRUE(moved.wait(kLongestWait));
  EXPECT_THAT(moved.stdout_lines().lines(), ElementsAre("second"));
}

TEST_F(Spawn, ManyChildrenLeaveNothingBehind) {
  for (int i = 0; i < 40; ++i) {
    Child child(shell(i % 2 == 0 ? "exit 0" : "sleep 30"));
    if (i % 4 == 0) {
      EXPECT_TRUE(child.wait(kLongestWait));
    }
  }
}

using Clock = std::chrono::steady_clock;

std::string error_of(const SpawnOptions& options) {
  return test::message_of([&] { const Child child(options); });
}

std::string error_of(const std::string& program) {
  SpawnOptions options;
  options.arguments = {program};
  return error_of(options);
}

pid_t printed_pid(Child& child) {
  for (int i = 0; i < 500 && child.stdout_lines().lines().empty(); ++i) {
    child.drain();
    std::this_thread::sleep_for(milliseconds(2));
  }
  const auto lines = child.stdout_lines().lines();
  return lines.empty() ? -1 : static_cast<pid_t>(to_integer(lines[0]).value_or(-1));
}

class SpawnFault : public test::LeavesNothing {
 protected:
  std::string make_file(const std::string& name, const std::string& text, mode_t mode) {
    const std::filesystem::path path = tree_.file(name, text).root() / name;
    ::chmod(path.c_str(), mode);
    return path;
  }

  FileTree tree_;
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
  SpawnOptions options = shell(std::string("a\0b", 3));
  EXPECT_THAT(error_of(options), HasSubstr("zero byte"));
  options = shell("true");
  options.descriptors = {{987, 5}};
  EXPECT_THAT(error_of(options), HasSubstr("descriptor 987"));
  options.descriptors = {{0, 1}};
  EXPECT_THAT(error_of(options), HasSubstr("numbered 1"));
  options.descriptors = {{0, 100000}};
  EXPECT_THAT(error_of(options), HasSubstr("numbered 100000"));
}

TEST_F(SpawnFault, ACrashIsToldWithItsSignal) {
  Child child(shell("echo about to crash >&2; kill -SEGV $$"));
  EXPECT_EQ(ended(child).text(), "killed by signal 11 (Segmentation fault)");
  EXPECT_THAT(child.stderr_lines().lines(), ElementsAre("about to crash"));
}

TEST_F(SpawnFault, AChildThatHangsTimesOutAndItsWholeGroupEnds) {
  Child child(shell("sleep 30 & echo $!; wait"));
  const pid_t grandchild = printed_pid(child);
  ASSERT_GT(grandchild, 0);
  EXPECT_FALSE(child.wait(milliseconds(20)));
  EXPECT_EQ(child.terminate().text(), "killed by signal 15 (Terminated)");
  EXPECT_TRUE(test::ends_soon(grandchild));
}

TEST_F(SpawnFault, AChildThatIgnoresTermIsKilledAfterTheGrace) {
  Child child(shell("trap '' TERM; echo $$; while :; do sleep 0.5; done"));
  ASSERT_GT(printed_pid(child), 0);
  const auto start = Clock::now();
  EXPECT_EQ(child.terminate(milliseconds(50)).text(), "killed by signal 9 (Killed)");
  EXPECT_GE(Clock::now() - start, milliseconds(50));
  EXPECT_LT(Clock::now() - start, milliseconds(3000));
}

TEST_F(SpawnFault, AChildThatCleansUpOnTermMaySayHowItEnded) {
  Child child(shell("trap 'echo cleaned; exit 7' TERM; echo $$; while :; do sleep 0.01; done"));
  ASSERT_GT(printed_pid(child), 0);
  EXPECT_EQ(child.terminate(kLongestWait).text(), "exit code 7");
  EXPECT_EQ(child.stdout_lines().lines().back(), "cleaned");
}

TEST_F(SpawnFault, AStoppedChildIsTerminated) {
  Child child(shell("echo $$; sleep 30"));
  ASSERT_GT(printed_pid(child), 0);
  ASSERT_EQ(::kill(child.pid(), SIGSTOP), 0);
  EXPECT_EQ(child.terminate(kLongestWait).text(), "killed by signal 15 (Terminated)");
}

TEST_F(SpawnFault, TheDestructorKillsTheGroup) {
  pid_t grandchild = -1;
  {
    Child child(shell("trap '' TERM; sleep 30 & echo $!; wait"));
    grandchild = printed_pid(child);
    ASSERT_GT(grandchild, 0);
    EXPECT_TRUE(test::runs(grandchild));
  }
  EXPECT_TRUE(test::ends_soon(grandchild));
}

TEST_F(SpawnFault, ADaemonThatKeepsThePipesOpenIsNotWaitedFor) {
  const auto start = Clock::now();
  Child child(shell("setsid sleep 30 & echo $!; exit 0"));
  const auto status = child.wait(milliseconds(-1));
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->ok());
  EXPECT_LT(Clock::now() - start, milliseconds(5000));
  const pid_t daemon = printed_pid(child);
  ASSERT_GT(daemon, 0);
  ::kill(daemon, SIGKILL);
}

TEST_F(SpawnFault, WhatTheChildLeavesInItsGroupEndsWithIt) {
  Child child(shell("sleep 30 & echo $!; exit 4"));
  EXPECT_EQ(ended(child).code, 4);
  EXPECT_TRUE(test::ends_soon(printed_pid(child)));
}

TEST_F(SpawnFault, AFloodOfOutputIsDrainedInConstantMemory) {
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  Child child(shell("yes | head -c 200000000; echo; echo end; head -c 50000000 /dev/zero >&2"));
  const auto status = child.wait(kLongestWait);
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
  Child child(shell("exec >&- 2>&-; sleep 0.05; exit 9"));
  EXPECT_EQ(ended(child).code, 9);
  EXPECT_EQ(child.stdout_fd(), -1);
  EXPECT_EQ(child.stderr_fd(), -1);
}

TEST_F(SpawnFault, WithSigchldIgnoredTheEndIsSeenAllTheSame) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
  {
    Child child(shell("exit 0"));
    EXPECT_FALSE(ended(child).ok()) << "success must not be claimed where it was not seen";
  }
  ::sigaction(SIGCHLD, &before, nullptr);
}

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

TEST(Affinity, ListsAscendingCpusAndTheOneWeRunOn) {
  const std::vector<int> cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  EXPECT_NE(std::find(cpus.begin(), cpus.end(), sched_getcpu()), cpus.end());
}

TEST(Affinity, PinsOnlyTheCallingThread) {
  const std::vector<int> before = allowed_cpus();
  std::thread([&] {
    ASSERT_TRUE(pin_this_thread(before.back()));
    EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()});
    EXPECT_EQ(sched_getcpu(), before.back());
    ASSERT_TRUE(pin_this_thread(before));
    EXPECT_EQ(allowed_cpus(), before);
  }).join();
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(Affinity, RefusesWhatIsNotThere) {
  const std::vector<int> before = allowed_cpus();
  EXPECT_FALSE(pin_this_thread(-1));
  EXPECT_FALSE(pin_this_thread(100000));
  EXPECT_FALSE(pin_this_thread(2000000000));
  EXPECT_FALSE(pin_this_thread(std::vector<int>{}));
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(ProgramSearch, LooksInPathOrWhereTheNameSays) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("bin/sh", "/"), "/bin/sh");
  EXPECT_FALSE(find_program("bin/sh", "/usr/share"));
  EXPECT_FALSE(find_program("no-such-program-anywhere"));
  EXPECT_FALSE(find_program("/etc")) << "a folder is no program";
  EXPECT_FALSE(find_program("/etc/passwd")) << "not executable";
  EXPECT_FALSE(find_program(""));
}

}  // namespace
}  // namespace headroom
