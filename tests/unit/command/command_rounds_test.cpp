// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "fake_commands.h"
#include "headroom/base/error.h"
#include "headroom/stats/compare.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ExitStatus failed(int code) {
  ExitStatus status;
  status.code = code;
  return status;
}

RatioEstimate ratio_of_group(const CommandGroup& group) {
  return round_ratio(group.commands[1], group.commands[0], group.look).value().estimate();
}

TEST(CommandRounds, EachRoundRunsEachOnceInARandomOrder) {
  FakeCommands fake;
  CommandRoundSettings settings = fake.settings();
  settings.stop.min_samples = settings.stop.max_samples = 40;
  const CommandGroup group = fake.measure({"a", "b", "c"}, settings);
  ASSERT_EQ(fake.calls.size(), 120U);
  std::set<std::string> orders;
  for (std::size_t round = 0; round < 40; ++round) {
    std::vector<std::string> names(fake.calls.begin() + 3 * round, fake.calls.begin() + 3 * round + 3);
    orders.insert(names[0] + names[1] + names[2]);
    std::ranges::sort(names);
    EXPECT_THAT(names, ElementsAre("a", "b", "c"));
  }
  EXPECT_EQ(orders.size(), 6U);
  EXPECT_EQ(group.commands[2].samples.at(17).round, 17U);
}

TEST(CommandRounds, TheEnvironmentChangesItsSizeInEachRoundAndIsTheSameForAllInIt) {
  FakeCommands fake;
  CommandRoundSettings settings = fake.settings();
  settings.stop.max_samples = 30;
  settings.stop.precision = 0;
  fake.measure({"a", "b"}, settings);
  ASSERT_EQ(fake.paddings.size(), 60U);
  std::set<std::size_t> sizes;
  for (std::size_t i = 0; i < 60; i += 2) {
    EXPECT_EQ(fake.paddings[i], fake.paddings[i + 1]);
    sizes.insert(fake.paddings[i]);
  }
  EXPECT_GT(sizes.size(), 20U);
  fake.paddings.clear();
  settings.random_environment = false;
  fake.measure({"a", "b"}, settings);
  EXPECT_THAT(fake.paddings, IsEmpty());
}

TEST(CommandRounds, StopsWhenTheRatioIsPreciseEvenIfTheMachineDrifts) {
  FakeCommands fake;
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.01);
  fake.wall_ns = [&](const std::string& name) {
    const double drift = 1 + 0.3 * std::sin(fake.now_ns / 3e8);
    return (name == "b" ? 1.03e6 : 1e6) * drift * std::exp(noise(random));
  };
  CommandRoundSettings settings = fake.settings();
  settings.stop.precision = 0.005;
  const CommandGroup group = fake.measure({"a", "b"}, settings);
  EXPECT_EQ(group.stop, StopReason::kPrecision);
  const RatioEstimate ratio = ratio_of_group(group);
  ASSERT_TRUE(ratio.interval);
  EXPECT_NEAR(ratio.ratio, 1.03, 0.006);
  EXPECT_LE(relative_half_width(*ratio.interval, ratio.ratio), 0.0055);
}

TEST(CommandRounds, ACapOnTimeWaitsForAnInterval) {
  FakeCommands fake;
  fake.wall_ns = [](const std::string&) { return 100e9; };
  CommandRoundSettings settings = fake.settings();
  settings.stop.max_time_ns = 1e9;
  EXPECT_EQ(fake.measure({"a", "b"}, settings).commands[0].samples.size(), 6U);
  settings.min_rounds = 1;
  const CommandGroup group = fake.measure({"a", "b"}, settings);
  EXPECT_EQ(group.commands[0].samples.size(), 1U) << "who asks for one round wants no interval";
  EXPECT_EQ(group.stop, StopReason::kMaxTime);
}

/// A machine on which b takes `factor` times as long, with so much noise.
struct NoisyCommands : FakeCommands {
  std::mt19937_64 random;
  NoisyCommands(double factor, double deviation, std::uint64_t seed = 5) : random(seed) {
    wall_ns = [this, factor,
               noise = std::normal_distribution<double>(0, deviation)](const std::string& name) mutable {
      return (name == "b" ? factor : 1) * 1e6 * std::exp(noise(random));
    };
  }
};

TEST(CommandRounds, AFirstLookEndsOnceTheCommandsAreToldApartAndGoesOnWhereTheyAreNot) {
  NoisyCommands far(1.3, 0.03), near(1, 0.03);
  CommandRoundSettings settings = far.settings();
  settings.stop.precision = 0.05;
  settings.margin = 0.01;
  const CommandGroup told = far.measure({"a", "b"}, settings);
  EXPECT_EQ(told.stop, StopReason::kPrecision);
  EXPECT_EQ(told.look, Look::kRunning);
  EXPECT_LE(told.commands[0].samples.size(), 60U);
  settings = near.settings();
  settings.stop.precision = 0.05;
  settings.margin = 0.01;
  const CommandGroup same = near.measure({"a", "b"}, settings);
  EXPECT_EQ(same.stop, StopReason::kPrecision);
  EXPECT_GT(same.commands[0].samples.size(), 200U);
  const Interval interval = ratio_of_group(same).interval.value();
  EXPECT_TRUE((interval.low >= 0.99 && interval.high <= 1.01) || !interval.contains(1));
  settings.margin = 0;
  EXPECT_LE(near.measure({"a", "b"}, settings).commands[0].samples.size(), 60U) << "only as precise as asked";
}

TEST(CommandRounds, CommandsOfSecondsEndOnceDecided) {
  NoisyCommands fake(2, 0.001);
  CommandRoundSettings settings = fake.settings();
  settings.stop.precision = 0.005;
  settings.stop.max_time_ns = 1e15;
  settings.margin = 0.01;
  EXPECT_GE(fake.measure({"a", "b"}, settings).commands[0].samples.size(), 30U)
      << "milliseconds cost nothing";
  double clock = 0;
  settings.now_ns = [&] { return clock += 1e9; };
  const CommandGroup told = fake.measure({"a", "b"}, settings);
  EXPECT_EQ(told.stop, StopReason::kPrecision);
  EXPECT_EQ(told.look, Look::kRunning);
  EXPECT_LE(told.commands[0].samples.size(), 14U);
}

TEST(CommandRounds, AsManyRunsAsAskedForAreNoCap) {
  NoisyCommands fake(1, 0.1);
  CommandRoundSettings settings = fake.settings();
  settings.stop.min_samples = settings.stop.max_samples = 8;
  EXPECT_FALSE(fake.measure({"a", "b"}, settings).as_many_as_asked);
  settings.exact_rounds = true;
  EXPECT_TRUE(fake.measure({"a", "b"}, settings).as_many_as_asked);
}

TEST(CommandRounds, WarmUpDoesNotUseUpTheRoundsOfACap) {
  FakeCommands fake;
  int runs = 0;
  fake.wall_ns = [&](const std::string&) {
    ++runs;
    return (runs <= 8 ? 900e9 : 100e9) + runs % 3 * 1e9;
  };
  CommandRoundSettings settings = fake.settings();
  settings.stop.max_time_ns = 1e9;
  settings.min_rounds = 8;
  const CommandGroup group = fake.measure({"a", "b"}, settings);
  EXPECT_EQ(warmup_of(group.commands[0]), 4U);
  EXPECT_GT(group.commands[0].samples.size(), 8U);
  EXPECT_TRUE(ratio_of_group(group).interval);
}

TEST(CommandRounds, AFailureMarksItsCommandAndTheOthersGoOn) {
  FakeCommands fake;
  fake.status = [](const std::string& name) { return failed(name == "b" ? 3 : 0); };
  const CommandGroup group = fake.measure({"a", "b", "c"}, fake.settings());
  EXPECT_EQ(std::ranges::count(fake.calls, "b"), 1);
  EXPECT_FALSE(group.commands[1].alive());
  EXPECT_THAT(group.commands[1].outcome.reason, HasSubstr("exit code 3 (in run 1; --ignore-failure"));
  EXPECT_TRUE(group.commands[2].alive());
  EXPECT_EQ(group.stop, StopReason::kPrecision);
}

TEST(CommandRounds, FailuresAreSamplesWhereThatIsAskedFor) {
  FakeCommands fake;
  fake.status = [](const std::string&) { return failed(3); };
  CommandRoundSettings settings = fake.settings();
  settings.ignore_failure = true;
  const CommandGroup group = fake.measure({"a"}, settings);
  EXPECT_TRUE(group.commands[0].alive());
  EXPECT_EQ(group.commands[0].samples.at(5).exit_code, 3);
}

TEST(CommandRounds, ACommandThatCannotBeStartedIsMarked) {
  FakeCommands fake;
  CommandRoundSettings settings = fake.settings();
  settings.run = [&](const CommandSpec& spec, const auto& interrupted) {
    if (spec.arguments.front() == "b") throw Error("no such program");
    return fake.run(spec, interrupted);
  };
  const CommandGroup group = fake.measure({"a", "b"}, settings);
  EXPECT_EQ(group.commands[1].outcome.reason, "no such program");
  EXPECT_THAT(group.commands[0].samples, Not(IsEmpty()));
}

TEST(CommandRounds, HooksRunWhereTheyBelong) {
  FakeCommands fake;
  PlannedCommand a = FakeCommands::command("a"), b = FakeCommands::command("b");
  a.setup = b.setup = "make both";
  a.prepare = "prepare a";
  a.conclude = "conclude a";
  a.cleanup = "clean a";
  b.cleanup = "clean b";
  CommandRoundSettings settings = fake.settings();
  settings.stop.max_samples = 2;
  fake.measure_planned({a, b}, settings);
  EXPECT_EQ(fake.calls.front(), "hook: make both");
  EXPECT_EQ(std::ranges::count(fake.calls, "hook: make both"), 1);
  std::vector<std::string> around_a;
  for (const std::string& call : fake.calls) {
    if (call.ends_with(" a") || call == "a") around_a.push_back(call);
  }
  EXPECT_THAT(around_a, ElementsAre("hook: prepare a", "a", "hook: conclude a", "hook: prepare a", "a",
                                    "hook: conclude a", "hook: clean a"));
  EXPECT_EQ(fake.calls.back(), "hook: clean b");
}

TEST(CommandRounds, AHookThatFailsTakesItsCommandOut) {
  FakeCommands fake;
  fake.status = [](const std::string& name) {
    return failed(name == "prepare a" || name == "clean b" ? 1 : 0);
  };
  PlannedCommand a = FakeCommands::command("a"), b = FakeCommands::command("b");
  a.prepare = "prepare a";
  b.cleanup = "clean b";
  CommandRoundSettings settings = fake.settings();
  settings.stop.max_samples = 8;
  const CommandGroup group = fake.measure_planned({a, b}, settings);
  EXPECT_THAT(group.commands[0].outcome.reason, HasSubstr("--prepare failed: exit code 1"));
  EXPECT_THAT(group.commands[0].samples, IsEmpty());
  EXPECT_TRUE(group.commands[1].alive()) << "a cleanup that fails does not undo what was measured";
  EXPECT_THAT(group.commands[1].notes, ElementsAre(HasSubstr("--cleanup failed")));
}

TEST(CommandRounds, AnInterruptKeepsWhatThereIsAndStillCleansUp) {
  FakeCommands fake;
  PlannedCommand a = FakeCommands::command("a");
  a.cleanup = "clean";
  CommandRoundSettings settings = fake.settings();
  settings.is_interrupted = [&] { return fake.calls.size() > 20; };
  settings.stop.precision = 0;
  const CommandGroup group = fake.measure_planned({a, FakeCommands::command("b")}, settings);
  EXPECT_EQ(group.stop, StopReason::kInterrupted);
  EXPECT_EQ(group.look, Look::kRunning) << "whoever ended it may have done so for what was there";
  EXPECT_GE(group.commands[0].samples.size(), 9U);
  EXPECT_EQ(fake.calls.back(), "hook: clean");
  fake.calls.clear();
  settings.is_hurried = [] { return true; };
  fake.measure_planned({a, FakeCommands::command("b")}, settings);
  EXPECT_NE(fake.calls.back(), "hook: clean");
}

/// The same command twice, in noise that drifts and has spikes, until it is precise or told apart: how often
/// the interval of the ratio leaves 1 out.
TEST(CommandRounds, FalseAlarmsOfACommandAgainstItself) {
  int alarms = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    FakeCommands fake;
    std::mt19937_64 random(static_cast<std::uint64_t>(run));
    std::normal_distribution<double> noise(0, 0.02);
    std::uniform_real_distribution<double> chance;
    double drift = 0;
    fake.wall_ns = [&](const std::string&) {
      drift = 0.95 * drift + noise(random) / 2;
      return 1e6 * std::exp(drift + noise(random) + (chance(random) < 0.05 ? 1 : 0));
    };
    CommandRoundSettings settings = fake.settings();
    settings.seed = static_cast<std::uint64_t>(run);
    settings.stop.precision = 0.02;
    settings.margin = 0.02;
    const RatioEstimate ratio = ratio_of_group(fake.measure({"a", "a"}, settings));
    ASSERT_TRUE(ratio.interval);
    alarms += ratio.interval->contains(1) ? 0 : 1;
  }
  EXPECT_LE(alarms, kRuns * 0.07);
}

}  // namespace
}  // namespace headroom
