// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/command/command_records.h"
#include "headroom/command/command_rounds.h"
#include "headroom/compare/verdict.h"
#include "headroom/record/formats.h"
#include "headroom/stats/compare.h"

namespace headroom {
namespace {

using namespace testing;

/// On a virtual clock, named by the first argument.
struct FakeCommands {
  std::function<double(const std::string& name)> wall_ns = [](const std::string&) { return 1e6; };
  std::function<ExitStatus(const std::string& name)> status = [](const std::string&) { return ExitStatus{}; };
  double now_ns = 0;
  std::vector<std::string> calls;     ///< names, or "hook: line"
  std::vector<std::size_t> paddings;  ///< by run
  CommandRoundSettings settings;

  CommandResult run(const CommandSpec& spec, const std::function<bool()>& is_interrupted) {
    CommandResult result;
    result.interrupted = is_interrupted();
    if (spec.arguments.front() == "/bin/sh") {
      calls.push_back("hook: " + spec.arguments.back());
      result.status = status(spec.arguments.back());
      return result;
    }
    const std::string& name = spec.arguments.front();
    calls.push_back(name);
    for (const auto& [variable, value] : spec.environment) {
      if (variable == "HEADROOM_PADDING") paddings.push_back(value.size());
    }
    result.status = status(name);
    result.wall_ns = wall_ns(name);
    result.user_ns = result.wall_ns / 2;
    result.peak_rss_bytes = 5 << 20;
    now_ns += result.wall_ns;
    return result;
  }

  FakeCommands() {
    settings.run = [this](const auto& spec, const auto& interrupted) { return run(spec, interrupted); };
    settings.now_ns = [this] { return now_ns; };
  }

  GroupResult measure(const std::vector<std::string>& names) {
    std::vector<PlannedCommand> commands;
    for (const std::string& name : names) commands.push_back(command(name));
    return measure_planned(std::move(commands));
  }
  GroupResult measure_planned(std::vector<PlannedCommand> commands) {
    ChildCounters counters(std::span<const CounterEvent>{});
    return CommandRounds(std::move(commands), settings, counters, [](const Progress&) {}).run();
  }

  static PlannedCommand command(const std::string& name) {
    PlannedCommand planned;
    planned.name = planned.title = planned.line = name;
    planned.spec.arguments = {name};
    return planned;
  }
};

class CommandRoundsTest : public testing::Test, protected FakeCommands {};

ExitStatus failed(int code) {
  ExitStatus status;
  status.code = code;
  return status;
}

RatioEstimate ratio_of_group(const GroupResult& group) {
  return round_ratio(group.cases[1], group.cases[0], group.look).value().estimate();
}

TEST_F(CommandRoundsTest, EachRoundRunsEachOnceInARandomOrder) {
  settings.stop.min_samples = settings.stop.max_samples = 40;
  const GroupResult group = measure({"a", "b", "c"});
  ASSERT_EQ(calls.size(), 120U);
  std::set<std::string> orders;
  for (std::size_t round = 0; round < 40; ++round) {
    std::vector<std::string> names(calls.begin() + 3 * round, calls.begin() + 3 * round + 3);
    orders.insert(names[0] + names[1] + names[2]);
    std::ranges::sort(names);
    EXPECT_THAT(names, ElementsAre("a", "b", "c"));
  }
  EXPECT_EQ(orders.size(), 6U);
  EXPECT_EQ(group.cases[2].readings.at(17).round, 17U);
}

TEST_F(CommandRoundsTest, TheEnvironmentChangesItsSizeInEachRoundAndIsTheSameForAllInIt) {
  settings.stop.max_samples = 30;
  settings.stop.precision = 0;
  measure({"a", "b"});
  ASSERT_EQ(paddings.size(), 60U);
  std::set<std::size_t> sizes;
  for (std::size_t i = 0; i < 60; i += 2) {
    EXPECT_EQ(paddings[i], paddings[i + 1]);
    sizes.insert(paddings[i]);
  }
  EXPECT_GT(sizes.size(), 20U);
  paddings.clear();
  settings.random_environment = false;
  measure({"a", "b"});
  EXPECT_THAT(paddings, IsEmpty());
}

TEST_F(CommandRoundsTest, StopsWhenTheRatioIsPreciseEvenIfTheMachineDrifts) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.01);
  wall_ns = [&](const std::string& name) {
    const double drift = 1 + 0.3 * std::sin(now_ns / 3e8);
    return (name == "b" ? 1.03e6 : 1e6) * drift * std::exp(noise(random));
  };
  settings.stop.precision = 0.005;
  const GroupResult group = measure({"a", "b"});
  EXPECT_EQ(group.stop, StopReason::kPrecision);
  const RatioEstimate ratio = ratio_of_group(group);
  ASSERT_TRUE(ratio.interval);
  EXPECT_NEAR(ratio.ratio, 1.03, 0.006);
  EXPECT_LE(relative_half_width(*ratio.interval, ratio.ratio), 0.0055);
}

TEST_F(CommandRoundsTest, ACapOnTimeWaitsForAnInterval) {
  wall_ns = [](const std::string&) { return 100e9; };
  settings.stop.max_time_ns = 1e9;
  EXPECT_EQ(measure({"a", "b"}).cases[0].readings.size(), 6U);
  settings.min_rounds = 1;
  const GroupResult group = measure({"a", "b"});
  EXPECT_EQ(group.cases[0].readings.size(), 1U) << "who asks for one round wants no interval";
  EXPECT_EQ(group.stop, StopReason::kMaxTime);
}

TEST_F(CommandRoundsTest, TheEndOfTheRunIsNotPutOffByTheLeastRounds) {
  wall_ns = [](const std::string&) { return 100e9; };
  settings.end_ns = 250e9;
  const GroupResult group = measure({"a", "b"});
  EXPECT_EQ(now_ns, 300e9) << "the run that was begun in time is the last";
  EXPECT_EQ(group.cases[0].readings.size() + group.cases[1].readings.size(), 3U);
  EXPECT_EQ(group.stop, StopReason::kMaxTime);
  EXPECT_FALSE(ratio_of_group(group).interval) << "of one round";
}

TEST_F(CommandRoundsTest, ACommandThatTheTimeDoesNotReachIsSkipped) {
  wall_ns = [](const std::string&) { return 100e9; };
  settings.end_ns = 50e9;
  settings.out_of_time = "not reached";
  const GroupResult group = measure({"a", "b"});
  EXPECT_THAT(calls, SizeIs(1));
  std::size_t skipped = 0;
  for (const Record& record : command_records(group, nullptr)) {
    if (record.outcome.kind != Outcome::Kind::kSkipped) continue;
    ++skipped;
    EXPECT_EQ(record.outcome.reason, "not reached");
    EXPECT_EQ(record.stop, StopReason::kMaxTime);
  }
  EXPECT_EQ(skipped, 1U);
}

TEST_F(CommandRoundsTest, AGroupThatTheTimeDoesNotReachIsNotSetUp) {
  settings.end_ns = 0;
  PlannedCommand one = command("a");
  one.setup = "make";
  one.cleanup = "clean";
  const GroupResult group = measure_planned({one});
  EXPECT_THAT(calls, IsEmpty());
  EXPECT_EQ(group.cases[0].outcome.kind, Outcome::Kind::kSkipped);
}

/// b takes `factor` times as long.
struct NoisyCommands : FakeCommands {
  std::mt19937_64 random;
  NoisyCommands(double factor, double deviation, std::uint64_t seed = 5) : random(seed) {
    wall_ns = [this, factor,
               noise = std::normal_distribution<double>(0, deviation)](const std::string& name) mutable {
      return (name == "b" ? factor : 1) * 1e6 * std::exp(noise(random));
    };
  }
};

TEST_F(CommandRoundsTest, AFirstLookEndsOnceTheCommandsAreToldApartAndGoesOnWhereTheyAreNot) {
  NoisyCommands far(1.3, 0.03), near(1, 0.03);
  for (NoisyCommands* fake : {&far, &near}) {
    fake->settings.stop.precision = 0.05;
    fake->settings.margin = 0.01;
  }
  const GroupResult told = far.measure({"a", "b"});
  EXPECT_EQ(told.stop, StopReason::kPrecision);
  EXPECT_EQ(told.look, Look::kRunning);
  EXPECT_LE(told.cases[0].readings.size(), 60U);
  const GroupResult same = near.measure({"a", "b"});
  EXPECT_EQ(same.stop, StopReason::kPrecision);
  EXPECT_GT(same.cases[0].readings.size(), 200U);
  const Interval interval = ratio_of_group(same).interval.value();
  EXPECT_TRUE((interval.low >= 0.99 && interval.high <= 1.01) || !interval.contains(1));
  near.settings.margin = 0;
  EXPECT_LE(near.measure({"a", "b"}).cases[0].readings.size(), 60U) << "only as precise as asked";
}

TEST_F(CommandRoundsTest, CommandsOfSecondsEndOnceDecided) {
  NoisyCommands fake(2, 0.001);
  fake.settings.stop.precision = 0.005;
  fake.settings.stop.max_time_ns = 1e15;
  fake.settings.margin = 0.01;
  EXPECT_GE(fake.measure({"a", "b"}).cases[0].readings.size(), 30U) << "milliseconds cost nothing";
  double clock = 0;
  fake.settings.now_ns = [&] { return clock += 1e9; };
  const GroupResult told = fake.measure({"a", "b"});
  EXPECT_EQ(told.stop, StopReason::kPrecision);
  EXPECT_EQ(told.look, Look::kRunning);
  EXPECT_LE(told.cases[0].readings.size(), 14U);
}

TEST_F(CommandRoundsTest, AsManyRunsAsAskedForAreNoCap) {
  NoisyCommands fake(1, 0.1);
  fake.settings.stop.min_samples = fake.settings.stop.max_samples = 8;
  EXPECT_FALSE(fake.measure({"a", "b"}).reached_exact_rounds);
  fake.settings.exact_rounds = true;
  EXPECT_TRUE(fake.measure({"a", "b"}).reached_exact_rounds);
}

TEST_F(CommandRoundsTest, WarmUpDoesNotUseUpTheRoundsOfACap) {
  int runs = 0;
  wall_ns = [&](const std::string&) {
    ++runs;
    return (runs <= 8 ? 900e9 : 100e9) + runs % 3 * 1e9;
  };
  settings.stop.max_time_ns = 1e9;
  settings.min_rounds = 8;
  const GroupResult group = measure({"a", "b"});
  EXPECT_THAT(warmup_by_process(group.cases[0].readings), ElementsAre(4U));
  EXPECT_GT(group.cases[0].readings.size(), 8U);
  EXPECT_TRUE(ratio_of_group(group).interval);
}

TEST_F(CommandRoundsTest, AFailureMarksItsCommandAndTheOthersGoOn) {
  status = [](const std::string& name) { return failed(name == "b" ? 3 : 0); };
  const GroupResult group = measure({"a", "b", "c"});
  EXPECT_EQ(std::ranges::count(calls, "b"), 1);
  EXPECT_FALSE(group.cases[1].alive());
  EXPECT_THAT(group.cases[1].outcome.reason, HasSubstr("exit code 3 (in run 1; --ignore-failure"));
  EXPECT_TRUE(group.cases[2].alive());
  EXPECT_EQ(group.stop, StopReason::kPrecision);
}

TEST_F(CommandRoundsTest, FailuresAreSamplesWhereThatIsAskedFor) {
  status = [](const std::string&) { return failed(3); };
  settings.ignore_failure = true;
  const GroupResult group = measure({"a"});
  EXPECT_TRUE(group.cases[0].alive());
  EXPECT_EQ(group.cases[0].readings.at(5).columns.at(kExitCode), 3);
}

TEST_F(CommandRoundsTest, ACommandThatCannotBeStartedIsMarked) {
  settings.run = [&](const CommandSpec& spec, const auto& interrupted) {
    if (spec.arguments.front() == "b") throw Error("no such program");
    return run(spec, interrupted);
  };
  const GroupResult group = measure({"a", "b"});
  EXPECT_EQ(group.cases[1].outcome.reason, "no such program");
  EXPECT_THAT(group.cases[0].readings, Not(IsEmpty()));
}

TEST_F(CommandRoundsTest, HooksRunWhereTheyBelong) {
  PlannedCommand a = command("a"), b = command("b");
  a.setup = b.setup = "make both";
  a.prepare = "prepare a";
  a.conclude = "conclude a";
  a.cleanup = "clean a";
  b.cleanup = "clean b";
  settings.stop.max_samples = 2;
  measure_planned({a, b});
  EXPECT_EQ(calls.front(), "hook: make both");
  EXPECT_EQ(std::ranges::count(calls, "hook: make both"), 1);
  std::vector<std::string> around_a;
  for (const std::string& call : calls) {
    if (call.ends_with(" a") || call == "a") around_a.push_back(call);
  }
  EXPECT_THAT(around_a, ElementsAre("hook: prepare a", "a", "hook: conclude a", "hook: prepare a", "a",
                                    "hook: conclude a", "hook: clean a"));
  EXPECT_EQ(calls.back(), "hook: clean b");
}

TEST_F(CommandRoundsTest, AHookThatFailsTakesItsCommandOut) {
  status = [](const std::string& name) { return failed(name == "prepare a" || name == "clean b" ? 1 : 0); };
  PlannedCommand a = command("a"), b = command("b");
  a.prepare = "prepare a";
  b.cleanup = "clean b";
  settings.stop.max_samples = 8;
  const GroupResult group = measure_planned({a, b});
  EXPECT_THAT(group.cases[0].outcome.reason, HasSubstr("--prepare failed: exit code 1"));
  EXPECT_THAT(group.cases[0].readings, IsEmpty());
  EXPECT_TRUE(group.cases[1].alive()) << "a cleanup that fails does not undo what was measured";
  EXPECT_THAT(sentences(group.cases[1].notes), ElementsAre(HasSubstr("--cleanup failed")));
}

TEST_F(CommandRoundsTest, AnInterruptKeepsWhatThereIsAndStillCleansUp) {
  PlannedCommand a = command("a");
  a.cleanup = "clean";
  settings.is_interrupted = [&] { return calls.size() > 20; };
  settings.stop.precision = 0;
  const GroupResult group = measure_planned({a, command("b")});
  EXPECT_EQ(group.stop, StopReason::kInterrupted);
  EXPECT_EQ(group.look, Look::kRunning) << "whoever ended it may have done so for what was there";
  EXPECT_GE(group.cases[0].readings.size(), 9U);
  EXPECT_EQ(calls.back(), "hook: clean");
  calls.clear();
  settings.is_hurried = [] { return true; };
  measure_planned({a, command("b")});
  EXPECT_NE(calls.back(), "hook: clean");
}

TEST_F(CommandRoundsTest, FalseAlarmsOfACommandAgainstItself) {
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
    fake.settings.seed = static_cast<std::uint64_t>(run);
    fake.settings.stop.precision = 0.02;
    fake.settings.margin = 0.02;
    const RatioEstimate ratio = ratio_of_group(fake.measure({"a", "a"}));
    ASSERT_TRUE(ratio.interval);
    alarms += ratio.interval->contains(1) ? 0 : 1;
  }
  EXPECT_LE(alarms, kRuns * 0.07);
}

const Record* find(const std::vector<Record>& records, const std::string& name, const std::string& metric) {
  const auto found = std::ranges::find_if(records, [&](const Record& record) {
    return record.model.name == name && record.metric.name == metric;
  });
  return found == records.end() ? nullptr : &*found;
}

Track track(const std::string& name, double wall_ns, std::size_t runs) {
  Track track = command_track(FakeCommands::command(name));
  for (std::size_t i = 0; i < runs; ++i) {
    Reading& reading = track.readings.emplace_back();
    reading.round = static_cast<std::uint32_t>(i);
    reading.ns = wall_ns * (1 + 1e-3 * static_cast<double>(i % 5));
    reading.noise.page_faults = 100;
    reading.columns.resize(kFirstCounter);
    reading.columns[kUserTime] = wall_ns / 2e9;
    reading.columns[kPeakMemory] = 8 << 20;
    reading.columns[kPageFaults] = 100;
    reading.columns[kContextSwitches] = 3;
  }
  return track;
}

GroupResult group_of(std::vector<Track> tracks, StopReason stop) {
  GroupResult group;
  group.of_commands = true;
  group.cases = std::move(tracks);
  group.stop = stop;
  return group;
}

TEST(CommandRecords, OneOfEachCommandAndMetric) {
  GroupResult group = group_of({track("a", 1e6, 20), track("b", 2e6, 20)}, StopReason::kPrecision);
  group.cases[1].planned.spec.axes = {{"n", "4"}};
  const std::vector<Record> records = command_records(group, nullptr);
  const Record* latency = find(records, "b", "latency");
  ASSERT_NE(latency, nullptr);
  EXPECT_NEAR(latency->metric.value, 2e-3, 1e-5);
  EXPECT_EQ(latency->metric.unit, "s");
  EXPECT_TRUE(latency->metric.headline);
  ASSERT_TRUE(latency->ratio);
  EXPECT_NEAR(latency->ratio->ratio, 2, 1e-9);
  EXPECT_EQ(latency->ratio->other, "a");
  ASSERT_TRUE(latency->interval);
  EXPECT_TRUE(latency->interval->contains(latency->metric.value));
  EXPECT_EQ(latency->samples.at(0).rounds.size(), 20U);
  EXPECT_EQ(latency->samples.at(0).noise[3].page_faults, 100U);
  EXPECT_EQ(latency->stop, StopReason::kPrecision);
  EXPECT_EQ(case_name(*latency), "b n=4");
  EXPECT_EQ(find(records, "a", "latency")->metric.extra_info.count("ratio"), 0U);
  EXPECT_NEAR(find(records, "a", "user_time")->metric.value, 5e-4, 1e-12);
  EXPECT_EQ(find(records, "a", "peak_memory")->metric.value, 8 << 20);
  EXPECT_EQ(find(records, "a", "page_faults")->metric.value, 100);
  EXPECT_EQ(find(records, "a", "context_switches")->metric.value, 3);
  for (const char* absent : {"major_faults", "exit_code", "instructions"}) {
    EXPECT_EQ(find(records, "a", absent), nullptr) << absent;
  }
}

TEST(CommandRecords, FailuresThatWereMeasuredAreTold) {
  GroupResult group = group_of({track("a", 1e6, 10)}, StopReason::kMaxTime);
  group.cases[0].readings[3].columns[kExitCode] = -9;
  const std::vector<Record> records = command_records(group, nullptr);
  ASSERT_NE(find(records, "a", "exit_code"), nullptr);
  EXPECT_EQ(find(records, "a", "exit_code")->samples.at(0).values.at(3), -9);
  EXPECT_THAT(sentences(records.front().notes), Contains(HasSubstr("1 of 10 runs (signal 9)")));
  EXPECT_THAT(sentences(records.front().notes), Contains(HasSubstr("time cap")));
}

TEST(CommandRecords, TimesThatFallIntoGroupsAreTold) {
  GroupResult group = group_of({track("a", 10e6, 40), track("b", 10e6, 40)}, StopReason::kMaxTime);
  for (std::size_t i = 0; i < 40; i += 2) group.cases[1].readings[i].ns *= 1.4;
  const std::vector<Record> records = command_records(group, nullptr);
  EXPECT_TRUE(find(records, "a", "latency")->modes.groups.empty());
  const Record* latency = find(records, "b", "latency");
  ASSERT_EQ(latency->modes.groups.size(), 2U);
  EXPECT_NEAR(latency->modes.groups[0].median, 0.010, 1e-3);
  EXPECT_NEAR(latency->modes.groups[1].median, 0.014, 1e-3);
  EXPECT_NEAR(latency->modes.groups[1].share, 0.5, 1e-9);
  EXPECT_FALSE(latency->modes.in_stretches);
  EXPECT_TRUE(latency->ratio);
  EXPECT_TRUE(find(records, "b", "user_time")->modes.groups.empty());
}

TEST(CommandRecords, CountersThatWereThereInEachRun) {
  GroupResult group = group_of({track("a", 1e6, 10)}, StopReason::kPrecision);
  for (Reading& reading : group.cases[0].readings) {
    for (const double count : {1e6, 5e5, kUncounted, 7.0}) reading.columns.push_back(count);
  }
  group.cases[0].readings[2].columns.back() = kUncounted;
  const std::vector<Record> records = command_records(group, nullptr);
  EXPECT_EQ(find(records, "a", "instructions")->metric.value, 1e6);
  EXPECT_EQ(find(records, "a", "cycles")->metric.value, 5e5);
  EXPECT_EQ(find(records, "a", "cache_misses"), nullptr);
  EXPECT_EQ(find(records, "a", "branch_misses"), nullptr);
}

TEST(CommandRecords, APeakThatIsOursIsSaidToBe) {
  GroupResult group = group_of({track("a", 1e6, 10)}, StopReason::kPrecision);
  group.cases[0].readings[7].columns[kPeakFloor] = 8 << 20;
  EXPECT_EQ(find(command_records(group, nullptr), "a", "peak_memory")->metric.extra_info.count("at_most"),
            1U);
  group.cases[0].readings[7].columns[kPeakFloor] = (8 << 20) - 1;
  EXPECT_EQ(find(command_records(group, nullptr), "a", "peak_memory")->metric.extra_info.count("at_most"),
            0U);
}

TEST(CommandRecords, ACommandWithoutSamplesHasOneRecordThatSaysWhy) {
  GroupResult group =
      group_of({track("a", 1e6, 10), track("b", 1e6, 0), track("c", 1e6, 0)}, StopReason::kInterrupted);
  group.cases[1].outcome = {Outcome::Kind::kFailed, "exit code 3"};
  const std::vector<Record> records = command_records(group, nullptr);
  const Record* failed = find(records, "b", "latency");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->outcome.reason, "exit code 3");
  EXPECT_EQ(find(records, "c", "latency")->outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_EQ(std::ranges::count_if(records, [](const Record& record) { return record.model.name == "c"; }), 1);
}

std::vector<Record> command(const std::string& name, double seconds,
                            const std::shared_ptr<const Environment>& session) {
  Record latency;
  latency.environment = session;
  latency.model.name = name;
  latency.model.extra_info["title"] = name;
  latency.metric = {"latency", "s", Direction::kLowerIsBetter, seconds, {}, {}, true};
  latency.interval = Interval{seconds * 0.995, seconds * 1.005, 0.95};
  ProcessSamples samples;
  for (std::uint32_t i = 0; i < 40; ++i) {
    samples.values.push_back(seconds * (1 + 1e-3 * (i * 7 % 5)));
    samples.rounds.push_back(i);
  }
  latency.samples = {samples};
  std::vector<Record> records{latency};
  for (const auto& [metric, unit, value] :
       std::initializer_list<std::tuple<const char*, const char*, double>>{{"user_time", "s", seconds / 2},
                                                                           {"system_time", "s", seconds / 4},
                                                                           {"peak_memory", "B", 8 << 20},
                                                                           {"page_faults", "1", 1234},
                                                                           {"context_switches", "1", 3.5}}) {
    Record record = latency;
    record.metric = {metric, unit, Direction::kLowerIsBetter, value, {}, {}};
    records.push_back(record);
  }
  return records;
}

std::vector<Record> two_commands(double second) {
  const auto session = std::make_shared<const Environment>();
  std::vector<Record> records = command("sort a", 0.01, session);
  for (const Record& record : command("sort b", second, session)) records.push_back(record);
  return records;
}

std::string text_of(const std::vector<Record>& records) {
  std::vector<RoundComparison> suite{{compare_records(records[0], records[records.size() / 2])}};
  judge_rounds(suite, 0.01);
  return command_table(records, std::span(&suite[0].comparison, 1)).text();
}

TEST(CommandTable, ShowsMediansWithIntervalsAndTheRatio) {
  EXPECT_EQ(text_of(two_commands(0.0103)),
            "40 runs\n"
            "command     time  ± 95 %     user   system  peak memory  faults  switches\n"
            "─────────────────────────────────────────────────────────────────────────\n"
            "sort a   10.0 ms   0.5 %  5.00 ms  2.50 ms        8 MiB    1234       3.5\n"
            "sort b   10.3 ms   0.5 %  5.15 ms  2.58 ms        8 MiB    1234       3.5\n"
            "    1.030 x the time of sort a (95 % interval 1.030 to 1.030): slower\n");
}

TEST(CommandTable, ShowsTheGroupsThatTimesFallInto) {
  std::vector<Record> records = two_commands(0.0103);
  records[0].modes = {{{0.009, 0.5}, {0.011, 0.5}}, 20, false};
  EXPECT_THAT(text_of(records),
              HasSubstr("3.5  M\n    modes: 9.00 ms in 50 % of the samples, 11.0 ms in 50 %, mixed\n"));
  EXPECT_THAT(command_legend(records), HasSubstr("  M  modes: the times form several groups"));
  EXPECT_THAT(command_legend(records), Not(HasSubstr("9.00 ms")));
}

TEST(CommandTable, SaysWhatTheIntervalAllows) {
  EXPECT_THAT(text_of(two_commands(0.0099 * 0.95)), HasSubstr("): faster"));
  EXPECT_THAT(text_of(two_commands(0.010001)), HasSubstr("): the same within 1.00 %"));
  EXPECT_THAT(text_of(two_commands(0.010105)), HasSubstr("): slower"));
  EXPECT_THAT(text_of(two_commands(0.01)), Not(HasSubstr("perhaps")));
  std::vector<Record> records = two_commands(0.0101);
  EXPECT_THAT(text_of(records), HasSubstr("): inconclusive (slower, perhaps by less than 1.00 %)"));
  records = two_commands(0.0103);
  for (Record& record : records) record.samples[0].values.resize(3), record.samples[0].rounds.resize(3);
  EXPECT_THAT(text_of(records), HasSubstr("(too few pairs for an interval): inconclusive (too few runs)"));
}

TEST(CommandTable, CountersAndPeaksThatAreOurs) {
  std::vector<Record> records = two_commands(0.0103);
  records[3].metric.extra_info["at_most"] = "true";
  for (const auto& [name, value] : {std::pair{"instructions", 3e6}, {"cycles", 2e6}}) {
    Record record = records[4];
    record.metric.name = name;
    record.metric.value = value;
    records.insert(records.begin() + 6, record);
  }
  const std::string text = command_table(records, {}).text();
  EXPECT_THAT(text, HasSubstr("≤ 8 MiB"));
  EXPECT_THAT(text, HasSubstr("3000000 instructions, 2000000 cycles (1.50 instructions per cycle)"));
}

TEST(CommandTable, ShowsWhyACommandHasNoNumbers) {
  std::vector<Record> records = two_commands(0.0103);
  records.resize(7);
  records[6].outcome = {Outcome::Kind::kFailed, "exit code 3: no such file"};
  const std::string text = command_table(records, {}).text();
  EXPECT_THAT(text, HasSubstr("sort b    failed\n    exit code 3: no such file\n"));
}

TEST(CommandTable, TheLegendTellsOfMarksAndOfWhatTheyDoNotSay) {
  std::vector<Record> records = two_commands(0.0103);
  EXPECT_EQ(command_legend(records), "");
  records[0].stop = StopReason::kMaxTime;
  records[0].notes = {{NoteKind::kTimeCap}, {NoteKind::kFailedRuns, {2, 40, 3}}};
  EXPECT_THAT(command_legend(records), HasSubstr("  T  stopped by the cap"));
  EXPECT_THAT(command_legend(records),
              HasSubstr("  sort a: failed: 2 of 40 runs (exit code 3), measured all the same\n"));
  EXPECT_THAT(command_legend(records), Not(HasSubstr("sort a: time cap")));
}

std::string text_of(const GroupResult& group) {
  return to_json_text(command_records(group, std::make_shared<Environment>()));
}

TEST(CommandJournal, WhatIsReadAfterEachRoundMakesTheSameRecords) {
  PlannedCommand b = FakeCommands::command("b");
  b.title = "b 1";
  b.parameters = {{"x", "1"}};
  GroupResult group = group_of({track("a", 1e6, 0), command_track(b)}, StopReason::kNone), replayed;
  group.cases[1].notes = {"it was slow to start", {NoteKind::kFailedRuns, {2, 40, -9}}};
  std::size_t lines = 0;
  GroupJournal journal([&](const Json& line) {
    ++lines;
    EXPECT_TRUE(replay(parse_json(dump_json(line), "line"), replayed));
  });
  for (std::uint32_t round = 0; round < 30; ++round) {
    for (Track& one : group.cases) {
      if (!one.alive()) continue;
      Reading reading = track("a", 1e6 + round, 1).readings.front();
      reading.round = round;
      reading.noise.steal_ms = 0.5;
      reading.columns[kExitCode] = round % 2 == 0 ? 0 : -11;
      reading.columns[kPeakFloor] = 9 << 20;
      for (const double count : {kUncounted, 7.0, 8.0, kUncounted}) reading.columns.push_back(count);
      one.readings.push_back(reading);
    }
    if (round == 20) group.cases[1].outcome = {Outcome::Kind::kFailed, "exit code 3"};
    journal.note(group);
    ASSERT_TRUE(replayed.of_commands);
    ASSERT_EQ(text_of(replayed), text_of(group));
  }
  EXPECT_EQ(lines, 30U + 2U);
}

TEST(CommandRecords, AReadingThatLacksColumnsHasNoneOfTheirRecords) {
  GroupResult group = group_of({track("a", 1e6, 10)}, StopReason::kInterrupted);
  group.cases[0].readings[4].columns.resize(1);
  const std::vector<Record> records = command_records(group, nullptr);
  EXPECT_NE(find(records, "a", "user_time"), nullptr);
  EXPECT_EQ(find(records, "a", "peak_memory"), nullptr);
}

}  // namespace
}  // namespace headroom
