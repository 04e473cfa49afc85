// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/measured_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "../error_message.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Output = CommandSpec::Output;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

CommandSpec shell(const std::string& line, Output output = Output::kCapture) {
  CommandSpec spec;
  spec.arguments = shell_arguments(line);
  spec.output = output;
  return spec;
}

std::string error_of(const CommandSpec& spec) {
  return test::message_of([&] { run_command(spec); });
}

/// Whether the process ends without further ado: a zombie that its new parent has not reaped yet has ended.
bool ends_soon(std::int64_t pid) {
  const auto runs = [pid] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    return std::getline(file, text) && text.find(") Z ") == std::string::npos;
  };
  for (int i = 0; i < 2500 && runs(); ++i) std::this_thread::sleep_for(milliseconds(4));
  return !runs();
}

/// Each test leaves as many descriptors and children as it found.
class MeasuredCommand : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/headroom_command_XXXXXX";
    folder_ = ::mkdtemp(name);
    before_ = open_descriptors();
  }
  void TearDown() override {
    EXPECT_EQ(open_descriptors(), before_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    std::filesystem::remove_all(folder_);
  }
  std::filesystem::path folder_;

 private:
  std::size_t before_ = 0;
};

TEST_F(MeasuredCommand, TellsCodesFromSignalsAndKeepsTheLastLines) {
  CommandResult result = run_command(shell("echo no such model >&2; exit 3"));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), "exit code 3: no such model");
  result = run_command(shell("kill -KILL $$"));
  EXPECT_EQ(result.failure(), "killed by signal 9 (Killed)");
  result = run_command(shell("true"));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.failure(), "");
}

/// What a child has of this program until it becomes another: much where sanitizers watch.
std::int64_t own_memory(const CommandResult& result) {
  return result.peak_rss_floor_bytes + (16 << 20);
}

TEST_F(MeasuredCommand, AccountsForTimeMemoryAndFaults) {
  const CommandResult result =
      run_command(shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.02; "
                        "dd if=/dev/zero of=/dev/null bs=64M count=1 2>&1"));
  ASSERT_TRUE(result.ok());
  EXPECT_GT(result.wall_ns, 20e6);
  EXPECT_GT(result.user_ns, 1e6);
  EXPECT_LT(result.user_ns, result.wall_ns);
  EXPECT_GE(result.peak_rss_bytes, 64 << 20);
  EXPECT_LT(result.peak_rss_bytes, std::max<std::int64_t>(256 << 20, own_memory(result)));
  EXPECT_GT(result.minor_faults, 100);
  EXPECT_GT(result.voluntary_switches, 0);
}

TEST_F(MeasuredCommand, EachChildHasItsOwnAccount) {
  const CommandResult large = run_command(shell("dd if=/dev/zero of=/dev/null bs=96M count=1 2>&1"));
  const CommandResult small = run_command(shell("true"));
  EXPECT_GE(large.peak_rss_bytes, 96 << 20);
  EXPECT_LT(small.peak_rss_bytes, std::max(large.peak_rss_bytes / 2, own_memory(small)));
  EXPECT_GE(small.peak_rss_bytes, small.peak_rss_floor_bytes);
}

TEST_F(MeasuredCommand, OutputIsDroppedKeptOrWritten) {
  EXPECT_EQ(run_command(shell("echo gone", Output::kDiscard)).output, "");
  EXPECT_EQ(run_command(shell("echo kept; echo twice")).output, "kept\ntwice\n");
  CommandSpec spec = shell("printf 123456");
  spec.capture_bytes = 4;
  const CommandResult cut = run_command(spec);
  EXPECT_EQ(cut.output, "1234");
  EXPECT_TRUE(cut.output_cut);
  spec = shell("echo in the file", Output::kFile);
  spec.output_file = folder_ / "out";
  run_command(spec);
  run_command(spec);
  EXPECT_EQ(read_file(folder_ / "out"), "in the file\n");
}

TEST_F(MeasuredCommand, InputFolderAndEnvironment) {
  std::ofstream(folder_ / "in") << "line";
  CommandSpec spec = shell("cat; pwd; echo $HEADROOM_TEST_VALUE");
  EXPECT_THAT(run_command(spec).output, StartsWith("/")) << "standard input is empty by default";
  spec.input = folder_ / "in";
  spec.folder = folder_;
  spec.environment = {{"HEADROOM_TEST_VALUE", "7"}};
  EXPECT_EQ(run_command(spec).output, "line" + folder_.string() + "\n7\n");
}

TEST_F(MeasuredCommand, AProgramWithASlashIsLookedUpFromItsFolder) {
  std::ofstream(folder_ / "mine") << "#!/bin/sh\necho mine\n";
  std::filesystem::permissions(folder_ / "mine", std::filesystem::perms::owner_all);
  CommandSpec spec;
  spec.arguments = {"./mine"};
  spec.output = Output::kCapture;
  EXPECT_THAT(error_of(spec), HasSubstr("no such file"));
  spec.folder = folder_;
  EXPECT_EQ(run_command(spec).output, "mine\n");
}

TEST_F(MeasuredCommand, WhatCannotBeStartedSaysWhy) {
  CommandSpec spec;
  spec.arguments = {"no-such-program-anywhere"};
  EXPECT_THAT(error_of(spec), HasSubstr("not found in PATH"));
  spec = shell("true");
  spec.folder = folder_ / "absent";
  EXPECT_THAT(error_of(spec), HasSubstr("there is no such folder"));
  spec = shell("true");
  spec.input = folder_ / "absent";
  EXPECT_THAT(error_of(spec), HasSubstr("standard input: No such file"));
  spec = shell("true", Output::kFile);
  spec.output_file = folder_ / "absent" / "file";
  EXPECT_THAT(error_of(spec), HasSubstr("standard output: No such file"));
}

TEST_F(MeasuredCommand, ATimeoutEndsTheWholeGroup) {
  CommandSpec spec = shell("sleep 300 & echo $!; wait");
  CommandResult result;
  // Longer where the machine is too busy to have come as far as the echo.
  for (spec.timeout = milliseconds(50); result.output.empty(); spec.timeout *= 2) result = run_command(spec);
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.failure(), StartsWith("timed out"));
  EXPECT_LT(result.wall_ns, 100e9);
  const auto grandchild = to_integer(trimmed(result.output));
  ASSERT_TRUE(grandchild);
  EXPECT_TRUE(ends_soon(*grandchild));
}

TEST_F(MeasuredCommand, WhoIgnoresTermIsKilled) {
  CommandSpec spec = shell("trap '' TERM; while :; do sleep 0.1; done");
  spec.timeout = milliseconds(100);
  spec.grace = milliseconds(50);
  const CommandResult result = run_command(spec);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.status.code, SIGKILL);
}

TEST_F(MeasuredCommand, AnInterruptIsHandedOn) {
  const std::filesystem::path ready = folder_ / "ready";
  const auto interrupted = [&] { return std::filesystem::exists(ready); };
  const CommandResult result = run_command(
      shell("trap 'echo tidied; exit 9' INT; > " + ready.string() + "; while :; do sleep 0.02; done"),
      interrupted);
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.status.code, 9);
  EXPECT_EQ(result.output, "tidied\n");
}

TEST_F(MeasuredCommand, ADaemonWithThePipesOpenIsNotWaitedFor) {
  const CommandResult result = run_command(shell("setsid sleep 30 & echo $!"));
  EXPECT_TRUE(result.ok());
  EXPECT_LT(result.wall_ns, 10e9);
  const auto daemon = to_integer(trimmed(result.output));
  ASSERT_TRUE(daemon);
  ::kill(static_cast<pid_t>(*daemon), SIGKILL);
}

TEST_F(MeasuredCommand, AFloodTakesNoMemory) {
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  CommandSpec spec = shell("head -c 300000000 /dev/zero; head -c 100000000 /dev/zero >&2");
  spec.capture_bytes = 1000;
  const CommandResult result = run_command(spec);
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.output.size(), 1000U);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 * 1024) << "KiB more than before";
}

}  // namespace
}  // namespace headroom
