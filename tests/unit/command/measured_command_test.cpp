// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <linux/perf_event.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <fstream>

#include "../error_message.h"
#include "../file_tree.h"
#include "../processes.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/command/measured_command.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using namespace testing;

using Output = CommandSpec::Output;

CommandSpec shell(const std::string& line, Output output = Output::kCapture) {
  CommandSpec spec;
  spec.arguments = shell_arguments(line);
  spec.output = output;
  return spec;
}

std::string error_of(const CommandSpec& spec) {
  return test::message_of([&] { run_command(spec); });
}

class MeasuredCommand : public test::LeavesNothing {
 protected:
  FileTree tree_;
  const std::filesystem::path folder_ = tree_.root();
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
  // The echo needs time on a busy machine.
  for (spec.timeout = milliseconds(50); result.output.empty(); spec.timeout *= 2) result = run_command(spec);
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.failure(), StartsWith("timed out"));
  EXPECT_LT(result.wall_ns, 100e9);
  const auto grandchild = to_integer(trimmed(result.output));
  ASSERT_TRUE(grandchild);
  EXPECT_TRUE(test::ends_soon(*grandchild));
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

constexpr std::array<CounterEvent, 2> kSoftware{{
    {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
}};

std::vector<std::optional<double>> count(ChildCounters& counters, const std::string& line) {
  CommandSpec spec;
  spec.arguments = shell_arguments(line);
  counters.start();
  EXPECT_TRUE(run_command(spec).ok());
  return counters.stop();
}

TEST(ChildCounters, CountChildrenWithTheirDescendantsAndNotUs) {
  ChildCounters counters(kSoftware);
  if (!counters.any()) GTEST_SKIP() << "the kernel counts nothing here: " << counters.absence();
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto busy = count(counters, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
    const auto idle = count(counters, "exec true");
    const auto nested = count(counters, "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done' & wait");
    ASSERT_TRUE(busy[0] && idle[0] && nested[0]) << repeat;
    EXPECT_GT(*busy[0], 2 * *idle[0]);
    EXPECT_GT(*nested[0], 2 * *idle[0]);
    ASSERT_TRUE(busy[1] && idle[1]);
    EXPECT_GT(*idle[1], 10);
  }
}

TEST(ChildCounters, WithoutAChildThereIsNothingToTell) {
  ChildCounters counters(kSoftware);
  counters.start();
  volatile double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
  for (const auto& count : counters.stop()) EXPECT_FALSE(count);
}

TEST(ChildCounters, WhatIsNotCountedHereSaysWhy) {
  constexpr std::array<CounterEvent, 1> kNone{{{"nothing", 12345, 0}}};
  ChildCounters counters(kNone);
  EXPECT_FALSE(counters.any());
  EXPECT_FALSE(counters.absence().empty());
  counters.start();
  EXPECT_FALSE(counters.stop().at(0));
  EXPECT_EQ(hardware_events().size(), ChildCounters().stop().size());
}

double number(const std::string& metric, const std::string& text, std::vector<std::string> errors = {}) {
  CommandResult result;
  result.wall_ns = 2.5e9;
  result.user_ns = 1e9;
  result.system_ns = 5e8;
  result.peak_rss_bytes = 3 << 20;
  result.error_lines = std::move(errors);
  return read_metric(parse_metric(metric), result, {text, "its output"});
}

std::string error_of(const std::string& metric, const std::string& text) {
  try {
    return std::to_string(number(metric, text));
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Metric, OfTheKernelsAccount) {
  EXPECT_EQ(number("wall", ""), 2.5);
  EXPECT_EQ(number("cpu", ""), 1.5);
  EXPECT_EQ(number("rss", ""), 3);
  EXPECT_EQ(parse_metric("wall").unit, "s");
  EXPECT_EQ(parse_metric("rss").unit, "MiB");
}

TEST(Metric, InAColumn) {
  EXPECT_EQ(number("csv:t", "name,t\nx,1.25\n"), 1.25);
  EXPECT_EQ(number("csv:t", " t ,name\r\n 7 ,x\r\n\n"), 7) << "blanks and empty lines";
  EXPECT_THAT(error_of("csv:t", "name,T\nx,1\n"),
              HasSubstr("no column 't'; did you mean 'T'?; it has name, T"));
  EXPECT_THAT(error_of("csv:t", "t\n1\n2\n"), HasSubstr("2 rows of values; expected one"));
  EXPECT_THAT(error_of("csv:t", "t\n"), HasSubstr("0 rows of values"));
  EXPECT_THAT(error_of("csv:t", ""), HasSubstr("is empty"));
  EXPECT_THAT(error_of("csv:t", "name,t\nx\n"), HasSubstr("ends before"));
  EXPECT_THAT(error_of("csv:t", "t\nOOM\n"), HasSubstr("is not a number: 'OOM'"));
  EXPECT_THAT(error_of("csv:t", "t\nnan\n"), AnyOf(HasSubstr("finite"), HasSubstr("not a number")));
  EXPECT_THAT(error_of("csv:t", "t\n-1\n"), HasSubstr("at least 0"));
  EXPECT_THAT(error_of("csv:t", "t\n\"1\n"), HasSubstr("its output"));
}

TEST(Metric, AtAPlaceInJson) {
  EXPECT_EQ(number("json:/runs/1/s", R"({"runs": [0, {"s": 4}]})"), 4);
  EXPECT_THAT(error_of("json:/s", "{}"), HasSubstr("no value at '/s'"));
  EXPECT_THAT(error_of("json:/s", R"({"s": "4"})"), HasSubstr("a number at '/s', found '\"4\"'"));
  EXPECT_THAT(error_of("json:/s", "{"), HasSubstr("its output"));
  EXPECT_THAT(error_of("json:/0", "{\"a\": 1}"), HasSubstr("no value at"));
  EXPECT_THAT(error_of("json:/x", "[1]"), HasSubstr("no value at"));
}

TEST(Metric, FoundInTheOutput) {
  EXPECT_EQ(number("output:took ([0-9.]+) s", "took 1 s\ntook 2.5 s\nend\n"), 2.5) << "the last one counts";
  EXPECT_EQ(number("output:[0-9]+", "abc 12"), 12) << "the whole match where there is no group";
  EXPECT_EQ(number("output:took ([0-9]+)", "nothing\n", {"took 3"}), 3) << "in standard error";
  EXPECT_THAT(error_of("output:took ([0-9]+)", "x"), HasSubstr("no match in its output"));
  EXPECT_THAT(error_of("output:took (.*)", "took long"), HasSubstr("is not a number: 'long'"));
  EXPECT_THROW(check_metric(parse_metric("output:(")), Error);
  EXPECT_THROW(check_metric(parse_metric("output:(a)(b)")), Error);
}

TEST(Metric, LongLinesNeedNoStack) {
  EXPECT_EQ(number("output:[ab]+ ([0-9]+)", std::string(1 << 22, 'a') + " 5\n"), 5);
}

TEST(Metric, MustBeKnown) {
  for (const char* text : {"time", "csv", "csv:", "json:", ""})
    EXPECT_THROW(parse_metric(text), Error) << text;
}

}  // namespace
}  // namespace headroom
