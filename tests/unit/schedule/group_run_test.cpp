// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fake_workers.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/record/metrics.h"
#include "headroom/schedule/case_records.h"
#include "headroom/schedule/group_run.h"
#include "headroom/schedule/limits.h"

namespace headroom {
namespace {

using namespace testing;

std::vector<RunnerOffer> limit_offers() {
  ExperimentDescription read{
      "limit.read",
      "",
      "",
      "cpu",
      {{"bytes", Axis::Kind::kInteger, {"1024"}}, {"pattern", Axis::Kind::kText, {"linear"}}},
      {"native"},
      true};
  ExperimentDescription write = read;
  write.name = "limit.write";
  ExperimentDescription peak{"limit.peak", "",  "", "cpu", {{"dtype", Axis::Kind::kText, {"f32"}}},
                             {"native"},   true};
  return {{"native", {read, write, peak}, true}};
}

class GroupRunTest : public testing::Test, protected GroupFixture {
 protected:
  void bound_by_memory() {
    settings.limits = true;
    offers = limit_offers();
    fake("a").work = {.flops = 1e3, .bytes = 1e6, .dtype = "f32"};
    workers.cases["limit.read/native@0"] = {.ns = 1e5, .work = {.bytes = 1e6, .dtype = {}}};
    workers.cases["limit.peak/native@0"] = {.ns = 1e5, .work = {.flops = 1e7, .dtype = "f32"}};
  }
};

TEST_F(GroupRunTest, WarmUpIsSampledInEachProcessAndNotKept) {
  settings.processes = 2;
  settings.stop.min_samples = settings.stop.max_samples = 8;
  const std::size_t without = [&] {
    run("a");
    return workers.count('s', "dot/a@0");
  }();
  settings.warmup = 5;
  const GroupResult result = run("a");
  EXPECT_EQ(workers.count('s', "dot/a@0"), 2 * without + 2 * 5);
  EXPECT_THAT(result.cases[0].readings, SizeIs(8));
}

TEST_F(GroupRunTest, OnlyOverheadIsSubtractedAndOnlyWhereAsked) {
  for (const bool subtracts : {true, false}) {
    GroupFixture fixture;
    fixture.settings.subtracts_overhead = subtracts;
    fixture.fake("a") = {
        .ns = 1e6, .columns = {2e5, 7e5, 1e5}, .column_names = {kClockOverhead, "column", kPythonOverhead}};
    const GroupResult result = fixture.run("a", "b");
    ASSERT_THAT(result.cases[0].readings, SizeIs(Ge(30U)));
    for (const Reading& reading : result.cases[0].readings)
      EXPECT_NEAR(reading.ns, subtracts ? 7e5 : 1e6, 1e-3) << subtracts;
    for (const Reading& reading : result.cases[1].readings)
      EXPECT_NEAR(reading.ns, 1e6, 1e-3) << "no overhead";
  }
}

TEST_F(GroupRunTest, WhatACaseSaysInTheEndIsOfItsRecords) {
  settings.stop.min_samples = settings.stop.max_samples = 8;
  const std::vector<double> values{9, 1, 2, 3, 4, 5, 6, 7, 8};
  fake("a").reported = {{"", {{"end", "well"}}, {{"depth", "1", values, {{"of", "it"}}, {{"bytes", 4096}}}}}};
  const auto records = case_records(run("a"), {"fake"}, nullptr);
  const Record& reported = records.back();
  EXPECT_EQ(reported.metric.name, "depth");
  EXPECT_EQ(reported.metric.extra_info.at("of"), "it");
  EXPECT_EQ(reported.metric.numbers, (NumberMap{{"bytes", 4096}}));
  EXPECT_EQ(reported.model.extra_info.at("end"), "well");
  EXPECT_THAT(reported.samples.at(0).values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(GroupRunTest, ACaseThatFailsInTheEndHasFailed) {
  fake("a").reported = {{"they have drifted apart"}};
  const GroupResult result = run("a", "b");
  EXPECT_EQ(result.cases[0].outcome.reason, "they have drifted apart");
  EXPECT_TRUE(result.cases[1].alive());
}

TEST_F(GroupRunTest, AWrongAnswerInTheEndThatIsKeptFlagsItsRecord) {
  fake("a").reported = {{"", {}, {}, "after its samples: wrong"}};
  const GroupResult result = run("a", "b");
  const auto records = case_records(result, {"fake"}, nullptr);
  EXPECT_TRUE(records.front().kept_wrong);
  EXPECT_FALSE(records.front().verified);
  EXPECT_EQ(records.front().outcome.reason, "after its samples: wrong");
  EXPECT_FALSE(records.back().kept_wrong);
}

TEST_F(GroupRunTest, ACaseThatTheTimeEndsBeforeItsLastCheckIsNotVerified) {
  for (const double conclude_ns : {1e6, 1e12}) {
    GroupFixture fixture;
    fixture.settings.end_ns = 1e10;
    for (const char* name : {"dot/a@0", "dot/b@0", "dot/c@0"}) fixture.workers.cases[name].verified = true;
    fixture.fake("b").conclude_ns = conclude_ns;
    const GroupResult result = fixture.run("a", "b", "c");
    for (const Track& track : result.cases) EXPECT_FALSE(track.readings.empty());
    EXPECT_TRUE(result.cases[0].info.verified);
    EXPECT_EQ(result.cases[1].info.verified, conclude_ns < 1e9);
    EXPECT_EQ(result.cases[2].info.verified, conclude_ns < 1e9);
  }
}

TEST_F(GroupRunTest, SettingsThatACaseChangedAreInItsNotes) {
  fake("a").reported = {{"", {}, {}, "", {"the signal mask"}}, {"", {}, {}, "", {"the signal mask"}}};
  const GroupResult result = run("a", "b");
  const auto notes_of = [&](std::size_t index) {
    return sentences(noise_notes(result.cases.at(index), std::nullopt, StopReason::kPrecision));
  };
  EXPECT_THAT(notes_of(0), Contains(HasSubstr("a changed the signal mask of a thread")).Times(1));
  EXPECT_THAT(notes_of(1), Not(Contains(HasSubstr("changed"))));
}

TEST_F(GroupRunTest, ACaseMayHaveATraceOfItsOwn) {
  PlannedCase traced = planned_case("a");
  traced.trace = "/tmp/its/own";
  offers = {{"fake", {}, false, true}};
  const GroupResult result = run({traced, planned_case("b")});
  EXPECT_THAT(workers.traces, ElementsAre("/tmp/its/own"));
  EXPECT_EQ(result.cases[0].trace, "/tmp/its/own");
  EXPECT_TRUE(result.cases[1].trace.empty() && result.cases[1].untraced.empty());
}

TEST_F(GroupRunTest, EachRoundHasEachCaseOnceInAnOrderThatVaries) {
  const GroupResult result = run("a", "b", "c@1");
  ASSERT_THAT(result.cases, SizeIs(3));
  const std::size_t rounds = result.cases[0].readings.size();
  std::vector<std::string> order;
  for (const FakeEvent& event : workers.events) {
    if (event.what == 's') order.push_back(event.name);
  }
  order.erase(order.begin(), order.end() - static_cast<std::ptrdiff_t>(3 * rounds));
  std::set<std::vector<std::string>> orders;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::string> one(order.begin() + static_cast<std::ptrdiff_t>(3 * round),
                                 order.begin() + static_cast<std::ptrdiff_t>(3 * round + 3));
    orders.insert(one);
    std::ranges::sort(one);
    EXPECT_THAT(one, ElementsAre("dot/a@0", "dot/b@0", "dot/c@1"));
  }
  EXPECT_EQ(orders.size(), 6U) << "all orders of three within 30 rounds and more";
  for (const Track& track : result.cases) {
    ASSERT_EQ(track.readings.size(), rounds);
    for (std::size_t i = 0; i < rounds; ++i) EXPECT_EQ(track.readings[i].round, i);
  }
}

TEST_F(GroupRunTest, CasesOfTwoDevicesAreHeldAgainstTheLimitsOfTheirOwn) {
  settings.limits = true;
  const Axis bytes{"bytes", Axis::Kind::kInteger, {"1024"}};
  for (const std::string device : {"cuda", "cpu"}) {
    offers.push_back({device, {{"limit.read", "", "", device, {bytes}, {device}, true}}, false});
  }
  const std::string on_cuda = "dot/cuda@0", on_cpu = "dot/cpu@1";
  workers.cases[on_cuda] = {.ns = 2e3, .work = {.bytes = 1e6, .dtype = {}}};
  workers.cases[on_cpu] = {.ns = 1e6, .work = {.bytes = 1e6, .dtype = {}}};
  workers.cases["limit.read/cuda@0"] = {.ns = 1e3, .work = {.bytes = 1e6, .dtype = {}}};
  workers.cases["limit.read/cpu@1"] = {.ns = 8e5, .work = {.bytes = 1e6, .dtype = {}}};
  PlannedCase cuda = planned_case("cuda", 0), cpu = planned_case("cpu", 1);
  cuda.device = "cuda";
  const GroupResult result = run({cuda, cpu});
  ASSERT_THAT(result.limits, SizeIs(2)) << "each the only one of its device: neither is loose";
  for (const Track& track : result.cases) {
    const auto limits = limits_of(track, result.limits);
    ASSERT_THAT(limits, SizeIs(1));
    EXPECT_EQ(limits[0].track.planned.runner, track.planned.runner);
    EXPECT_GT(
        workers.count('s', "limit.read/" + track.planned.device + "@" + std::to_string(track.planned.runner)),
        30U);
  }
  const auto records = case_records(result, {"cuda", "native"}, std::make_shared<Environment>());
  for (const Record& record : records) {
    ASSERT_TRUE(record.limit) << record.device << " " << record.metric.name;
    EXPECT_NEAR(record.limit->fraction, record.device == "cuda" ? 0.5 : 0.8, 1e-9);
    EXPECT_EQ(limit_name(*record.limit).find("thread") == std::string::npos, record.device == "cuda")
        << limit_name(*record.limit);
  }
}

TEST_F(GroupRunTest, TheOrderFollowsTheSeed) {
  const auto order_of = [](std::uint64_t seed) {
    GroupFixture fixture;
    fixture.settings.seed = seed;
    fixture.run("a", "b", "c");
    std::string order;
    for (const FakeEvent& event : fixture.workers.events) order += event.name;
    return order;
  };
  EXPECT_EQ(order_of(1), order_of(1));
  EXPECT_NE(order_of(1), order_of(2));
}

TEST_F(GroupRunTest, ComparedCasesShareTheirIterations) {
  fake("a").ns = 1e4;
  fake("b").ns = 3e4;
  const GroupResult result = run("a", "b");
  EXPECT_EQ(result.cases[0].iterations, result.cases[1].iterations);
  EXPECT_GE(static_cast<double>(result.cases[0].iterations) * 1e4, settings.sample_ns);
  EXPECT_EQ(result.cases[0].lead_in, 1U);
  EXPECT_NEAR(result.cases[1].readings.back().ns, 3e4, 1e-6);
  EXPECT_EQ(result.cases[0].pids, std::vector<std::int64_t>{1001});
}

TEST_F(GroupRunTest, StopsOnPrecision) {
  settings.stop.max_samples = 10'000;
  fake("a").factor = noise_of(0.02, 0, 1);
  const GroupResult result = run("a");
  EXPECT_EQ(result.stop, StopReason::kPrecision);
  EXPECT_THAT(result.cases[0].readings.size(), AllOf(Ge(30U), Le(200U)));
  EXPECT_EQ(workers.prepared_now(0), 0U) << "released";
}

TEST_F(GroupRunTest, MorePrecisionTakesMoreSamples) {
  const auto samples_at = [](double precision) {
    GroupFixture fixture;
    fixture.settings.stop.max_samples = 10'000;
    fixture.settings.stop.precision = precision;
    fixture.fake("a").factor = noise_of(0.02, 0, 1);
    return fixture.run("a").cases[0].readings.size();
  };
  EXPECT_GT(samples_at(0.003), 2 * samples_at(0.008));
}

TEST_F(GroupRunTest, StopsAtTheMostSamples) {
  fake("a").factor = noise_of(0.5, 0, 1);
  const GroupResult result = run("a");
  EXPECT_EQ(result.stop, StopReason::kMaxSamples);
  EXPECT_EQ(result.cases[0].readings.size(), 40U);
}

TEST_F(GroupRunTest, StopsAtTheTimeCap) {
  settings.stop.max_samples = 10'000;
  settings.stop.max_time_ns = 1e8;
  fake("a").factor = noise_of(0.5, 0, 1);
  const GroupResult result = run("a");
  EXPECT_EQ(result.stop, StopReason::kMaxTime);
  double total = 0;
  for (const Reading& reading : result.cases[0].readings) {
    total += reading.ns * static_cast<double>(result.cases[0].iterations);
  }
  EXPECT_THAT(total, AllOf(Ge(1e8), Le(1.6e8)));
}

TEST_F(GroupRunTest, GivesOneRoundHoweverTightTheCap) {
  settings.stop.max_time_ns = 0;
  const GroupResult result = run("a", "b");
  EXPECT_EQ(result.stop, StopReason::kMaxTime);
  for (const Track& track : result.cases) EXPECT_THAT(track.readings, SizeIs(1));
}

TEST_F(GroupRunTest, AnInterruptKeepsWhatWasMeasured) {
  workers.on_sample = [&] {
    if (fake("a").samples == 12) interrupted = true;
  };
  const GroupResult result = run("a");
  EXPECT_EQ(result.stop, StopReason::kInterrupted);
  EXPECT_THAT(result.cases[0].readings.size(), AllOf(Ge(1U), Le(12U)));
  EXPECT_EQ(workers.events.back().what, 'x') << "the runner is ended, not asked";
}

TEST_F(GroupRunTest, AnInterruptWhilePreparingEndsItToo) {
  interrupted = true;
  const GroupResult result = run("a");
  EXPECT_EQ(result.stop, StopReason::kInterrupted);
  EXPECT_TRUE(result.cases[0].readings.empty());
  EXPECT_EQ(workers.count('p', "dot/a@0"), 0U);
}

TEST_F(GroupRunTest, FreshProcessesShareTheSamples) {
  settings.processes = 3;
  settings.stop.max_samples = 600;
  fake("a").factor = noise_of(0.01, 0, 1);
  fake("b").factor = noise_of(0.01, 0, 2);
  const GroupResult result = run("a", "b");
  EXPECT_EQ(workers.started[0], 3);
  EXPECT_EQ(workers.count('p', "dot/a@0"), 3U);
  EXPECT_EQ(result.stop, StopReason::kPrecision);
  for (const Track& track : result.cases) {
    EXPECT_THAT(track.pids, ElementsAre(1001, 1002, 1003));
    std::map<std::uint32_t, int> by_epoch;
    for (const Reading& reading : track.readings) ++by_epoch[reading.epoch];
    EXPECT_THAT(by_epoch, SizeIs(3));
    for (const auto& [epoch, samples] : by_epoch) EXPECT_THAT(samples, AllOf(Ge(10), Le(200))) << epoch;
  }
}

TEST_F(GroupRunTest, ProcessesThatDifferDoNotSampleUpToTheCap) {
  settings.processes = 3;
  settings.stop.max_samples = 9'000;
  fake("a").factor = [&, noise = noise_of(0.01, 0, 1)](double) mutable {
    return noise(0) * (1 + 0.05 * workers.started[0]);
  };
  const GroupResult result = run("a");
  EXPECT_EQ(result.stop, StopReason::kPrecision);
  EXPECT_LE(result.cases[0].readings.size(), 200U);
}

TEST_F(GroupRunTest, ProgressFollowsTheRun) {
  settings.processes = 2;
  fake("a").factor = noise_of(0.01, 0, 1);
  run("a");
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.front().phase, "preparing");
  double elapsed = 0;
  for (const Progress& now : progress) {
    EXPECT_GE(now.elapsed_ns, elapsed) << "time never runs back";
    EXPECT_LE(now.elapsed_ns, workers.clock_ns);
    elapsed = now.elapsed_ns;
  }
  const Progress& last = progress.back();
  EXPECT_EQ(last.phase, "sampling");
  EXPECT_EQ(last.process, 1U);
  EXPECT_NEAR(last.median_ns, 1e6, 2e4);
  EXPECT_GT(elapsed, 0);
}

TEST_F(GroupRunTest, LimitsAreSampledInTheSameRoundsAndLooseOnesReleased) {
  bound_by_memory();
  const GroupResult result = run("a");
  ASSERT_THAT(result.limits, SizeIs(1)) << "nothing is written, and the peak is far from binding";
  EXPECT_EQ(result.limits[0].resource, Resource::kRead);
  EXPECT_EQ(result.limits[0].track.readings.size(), result.cases[0].readings.size());
  EXPECT_EQ(workers.count('p', "limit.peak/native@0"), 1U);
  EXPECT_EQ(workers.count('r', "limit.peak/native@0"), 1U);
  EXPECT_EQ(workers.count('p', "limit.write/native@0"), 0U);
  bool is_released = false;
  for (const FakeEvent& event : workers.events) {
    if (event.name != "limit.peak/native@0") continue;
    EXPECT_FALSE(is_released) << "nothing is asked of it any more";
    is_released = event.what == 'r';
  }
}

std::unique_ptr<GroupFixture> bounded_fixture(std::uint64_t seed) {
  auto made = std::make_unique<GroupFixture>();
  GroupFixture& fixture = *made;
  fixture.settings.limits = true;
  fixture.settings.seed = seed;
  fixture.settings.processes = 3;
  fixture.settings.stop = {.precision = 0.002, .min_samples = 30, .max_time_ns = 3e9};
  fixture.offers = limit_offers();
  fixture.offers[0].experiments[0].axes[1].values = {"linear", "split", "ahead"};
  const auto noise = [&](std::uint64_t number) { return noise_of(0.01, 0.2, 9 * seed + number); };
  const auto read = [&](double ns, std::uint64_t number) {
    return FakeCase{.ns = ns, .work = {.bytes = 1e6, .dtype = {}}, .factor = noise(number)};
  };
  fixture.fake("a") = {.ns = 1.25e5, .work = {.bytes = 1e6, .dtype = {}}, .factor = noise(0)};
  fixture.workers.cases["limit.read/native@0"] = read(1.1e5, 1);
  fixture.workers.cases["limit.read/native split@0"] = read(1e5, 2);
  fixture.workers.cases["limit.read/native ahead@0"] = read(1.005e5, 3);
  return made;
}

TEST_F(GroupRunTest, ALimitThatAnotherBeatsClearlyIsSampledNoMore) {
  const auto fixture = bounded_fixture(1);
  const GroupResult result = fixture->run("a");
  ASSERT_THAT(result.limits, SizeIs(3));
  const std::size_t rounds = result.cases[0].readings.size();
  EXPECT_TRUE(result.limits[0].track.rests);
  EXPECT_LT(result.limits[0].track.readings.size(), rounds / 4);
  EXPECT_EQ(fixture->workers.count('p', "limit.read/native@0"), 1U) << "nor is it prepared again";
  for (const std::size_t kept : {1U, 2U}) {
    EXPECT_FALSE(result.limits[kept].track.rests) << "half a per cent may be turned around";
    EXPECT_EQ(result.limits[kept].track.readings.size(), rounds);
  }
  const auto limit = case_limit(result.cases[0], result.limits).share;
  ASSERT_TRUE(limit && limit->interval);
  EXPECT_EQ(limit->parts.at(0).pattern, "split");
}

TEST_F(GroupRunTest, LimitsThatRestLeaveTheShareAsItIs) {
  int covered = 0;
  double sum = 0;
  constexpr int kRuns = 40;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    const auto fixture = bounded_fixture(seed);
    fixture->settings.stop.max_samples = 60;
    const GroupResult result = fixture->run("a");
    const auto limit = case_limit(result.cases[0], result.limits).share;
    ASSERT_TRUE(limit && limit->interval);
    covered += limit->interval->contains(0.8) ? 1 : 0;
    sum += limit->fraction;
  }
  EXPECT_GE(covered, 34);
  EXPECT_NEAR(sum / kRuns, 0.8, 0.002);
}

TEST_F(GroupRunTest, FlopsUtilizationKeepsThePeak) {
  bound_by_memory();
  PlannedCase planned = planned_case("a");
  planned.metric = "flops_utilization";
  EXPECT_THAT(run({planned}).limits, SizeIs(2));
}

WorkCounts counted(double instructions, double bytes) {
  WorkCounts counts;
  counts.instructions = instructions;
  counts.memory_bytes = bytes;
  counts.background_bytes = 5;
  return counts;
}

struct Counting : testing::Test {
  Counting() {
    group.offers.resize(2);
    group.offers[0].counts = true;
    group.fake("native").counts = {counted(700, 4096), ""};
  }
  const Record* record(const GroupResult& result, const std::string& metric) {
    records = case_records(result, {"native", "other"}, nullptr);
    const auto found = std::ranges::find(records, metric, [](const Record& one) { return one.metric.name; });
    return found == records.end() ? nullptr : &*found;
  }

  GroupFixture group;
  std::vector<Record> records;
};

TEST_F(Counting, FollowsTheSamplesOfEachProcessAndIsARecordOfEachQuantity) {
  group.settings.processes = 2;
  const GroupResult result = group.run("native");
  const Record* instructions = record(result, kInstructions);
  ASSERT_NE(instructions, nullptr);
  EXPECT_EQ(instructions->metric.value, 700);
  EXPECT_EQ(instructions->metric.unit, "1");
  EXPECT_FALSE(instructions->metric.headline);
  ASSERT_EQ(instructions->samples.size(), 2U) << "a process each";
  EXPECT_NE(instructions->samples[0].pid, instructions->samples[1].pid);
  EXPECT_EQ(instructions->samples[0].iterations, result.cases[0].iterations);
  EXPECT_EQ(record(result, kDataVolume)->metric.value, 4096);
  EXPECT_EQ(record(result, kDataVolume)->metric.unit, "B");
  EXPECT_EQ(record(result, kBackground)->metric.value, 5);
  for (const char* absent : {kCycles, kCacheMisses, kMissVolume, kDataWritten})
    EXPECT_EQ(record(result, absent), nullptr) << absent;
  const auto& events = group.workers.events;
  char last = 'p';
  for (const FakeEvent& event : events) {
    if (event.what == 's') {
      EXPECT_NE(last, 'c');
    }
    if (event.what != 'r') last = event.what;
  }
}

TEST_F(Counting, TakesATenthOfTheSamplesAndFivePassesAtMost) {
  for (const auto& [samples, passes] : {std::pair(4UL, 1UL), std::pair(40UL, 4UL), std::pair(400UL, 5UL)}) {
    group.workers.events.clear();
    group.settings.stop.min_samples = group.settings.stop.max_samples = samples;
    group.run("native");
    EXPECT_EQ(group.workers.count('c', "dot/native@0"), passes) << samples;
  }
}

TEST_F(Counting, IsNotAskedOfWhoCannotNorOfADeviceNorWhereItIsNotWanted) {
  PlannedCase on_device = planned_case("native");
  on_device.device = "cuda";
  group.run({on_device});
  group.run("native@1");
  group.settings.counts = false;
  group.run("native");
  EXPECT_TRUE(std::ranges::none_of(group.workers.events, [](const FakeEvent& e) { return e.what == 'c'; }));
}

TEST_F(Counting, ThatFailsOrKillsTheRunnerCostsNoSamples) {
  group.fake("native").counts = {{}, "another program has them"};
  GroupResult result = group.run("native");
  EXPECT_TRUE(result.cases[0].alive());
  EXPECT_EQ(result.cases[0].uncounted, "another program has them");
  EXPECT_EQ(record(result, kInstructions), nullptr);
  EXPECT_EQ(record(result, "latency")->model.extra_info.at("uncounted"), "another program has them");

  group.fake("native").lost_in_count = true;
  result = group.run("native", "reference");
  EXPECT_TRUE(result.cases[0].alive());
  EXPECT_THAT(result.cases[0].uncounted, HasSubstr("signal 11"));
  EXPECT_GE(result.cases[0].readings.size(), 30U);
}

TEST_F(Counting, HasMissesTimesTheLineAndSaysWhereCountersTookTurns) {
  WorkCounts counts;
  counts.cache_misses = 10;
  counts.share = 0.5;
  GroupResult result = group.run("native");
  result.cases[0].counted = {{0, counts}, {0, counts}};
  const Record* volume = record(result, kMissVolume);
  ASSERT_NE(volume, nullptr);
  EXPECT_EQ(volume->metric.value, 10.0 * static_cast<double>(cache_line_bytes()));
  EXPECT_EQ(volume->metric.extra_info.at(kCountedShare), "0.500");
}

TEST_F(Counting, LeavesTheSeriesThatACaseTellsThoseOfItsSamples) {
  group.settings.stop.min_samples = group.settings.stop.max_samples = 3;
  GroupResult result = group.run("native");
  const std::uint64_t after = result.cases[0].calls_after;
  ASSERT_GT(after, 0U);
  std::vector<double> reported{-1, 1, 2, 3};  // one of the warm-up, then samples
  reported.resize(reported.size() + after, 99);
  result.cases[0].reported = {Conclusion{"", {}, {{"loss", "1", reported, {}}}}};
  EXPECT_EQ(record(result, "loss")->samples.at(0).values, (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace headroom
