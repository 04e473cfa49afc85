// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fake_workers.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/record/formats.h"
#include "headroom/record/metrics.h"
#include "headroom/schedule/case_records.h"
#include "headroom/schedule/track.h"

namespace headroom {
namespace {

using namespace testing;

struct FaultFixture : GroupFixture {
  /// Ends after 20 s; cases prepare for so long and are noisy.
  void end_soon(const std::map<std::string, double>& prepare_s) {
    settings.end_ns = 20e9;
    settings.out_of_time = "not reached";
    settings.stop = {.precision = 1e-6, .min_samples = 1, .max_time_ns = 1e12, .max_samples = 1'000'000};
    for (const auto& [name, seconds] : prepare_s)
      fake(name) = {.ns = 1e8, .prepare_ns = seconds * 1e9, .factor = noise_of(0.3, 0, 1)};
  }
  void ask_for_traces() {
    settings.traces = "/traces";
    offers = {{"torch", {}, false, true}, {"native", {}, false, false}};
  }
};

class GroupRunFaults : public testing::Test, protected FaultFixture {};

constexpr auto kFailed = Outcome::Kind::kFailed;
constexpr auto kMeasured = Outcome::Kind::kMeasured;

TEST_F(GroupRunFaults, ASkippedOrFailedCaseDoesNotStopTheOthers) {
  fake("b").outcome = {Outcome::Kind::kSkipped, "no AMX"};
  fake("c").outcome = {kFailed, "wrong answer"};
  const GroupResult result = run("b", "a", "c");
  EXPECT_EQ(result.cases[0].outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_EQ(result.cases[0].outcome.reason, "no AMX");
  EXPECT_EQ(result.cases[2].outcome.reason, "wrong answer");
  EXPECT_EQ(result.cases[1].outcome.kind, kMeasured);
  EXPECT_GE(result.cases[1].readings.size(), 30U);
  EXPECT_THAT(result.cases[0].readings, IsEmpty());
  EXPECT_EQ(result.stop, StopReason::kPrecision);
}

TEST_F(GroupRunFaults, AllSkippedStopsForNoReason) {
  settings.limits = true;
  settings.processes = 3;
  fake("a").outcome = {Outcome::Kind::kSkipped, "no AMX"};
  const GroupResult result = run("a");
  EXPECT_EQ(result.stop, StopReason::kNone);
  EXPECT_EQ(workers.count('p', "dot/a@0"), 1U);
}

TEST_F(GroupRunFaults, AFailingSampleKeepsWhatWasGivenAndIsReleased) {
  fake("b").fails_at = 20;
  const GroupResult result = run("a", "b");
  EXPECT_EQ(result.cases[1].outcome.kind, kFailed);
  EXPECT_EQ(result.cases[1].outcome.reason, "boom");
  EXPECT_GT(result.cases[1].readings.size(), 5U);
  EXPECT_LT(result.cases[1].readings.size(), 20U);
  EXPECT_GE(result.cases[0].readings.size(), 30U);
  EXPECT_EQ(workers.count('r', "dot/b@0"), 1U);
  EXPECT_EQ(workers.started[0], 1);
}

TEST_F(GroupRunFaults, StrictlyWhatSumsInLessThanF32Fails) {
  settings.processes = 2;
  fake("b").sums_in = Precision::kBf16;
  fake("c").sums_in = Precision::kF32;
  const std::vector<PlannedCase> planned{planned_case("a"), planned_case("b"), planned_case("c")};
  EXPECT_EQ(run(planned).cases[1].outcome.kind, kMeasured) << "not asked for";
  settings.strict = true;
  const GroupResult result = run(planned);
  EXPECT_EQ(result.cases[0].outcome.kind, kMeasured) << "it declares nothing";
  EXPECT_EQ(result.cases[2].outcome.kind, kMeasured);
  EXPECT_EQ(result.cases[1].outcome.kind, kFailed);
  EXPECT_THAT(result.cases[1].outcome.reason, HasSubstr("sums in bf16"));
  EXPECT_THAT(result.cases[1].outcome.reason, HasSubstr("--strict requires f32"));
  EXPECT_THAT(result.cases[1].readings, IsEmpty());
  EXPECT_EQ(workers.prepared_now(0), 0U) << "it is released";
}

TEST_F(GroupRunFaults, StrictlyAGroupOfNothingElseEnds) {
  settings.strict = true;
  fake("a").sums_in = Precision::kF16;
  const GroupResult result = run("a");
  EXPECT_EQ(result.cases[0].outcome.kind, kFailed);
  EXPECT_EQ(workers.count('s', "dot/a@0"), 0U);
}

TEST_F(GroupRunFaults, SamplingEndsWithTheTimeOfTheRunAndOneSample) {
  end_soon({{"a", 5}, {"b", 5}});
  const GroupResult result = run("a", "b");
  EXPECT_EQ(result.stop, StopReason::kMaxTime);
  for (const Track& track : result.cases) EXPECT_GT(track.readings.size(), 20U);
  EXPECT_GE(workers.clock_ns, 19e9);
  EXPECT_LE(workers.clock_ns, 20.2e9);
}

TEST_F(GroupRunFaults, WhatIsStillPreparedWhenTimeEndsIsNotReachedAndTheOthersAreSampled) {
  end_soon({{"a", 1}, {"b", 600}, {"c", 1}});
  const GroupResult result = run("a", "b", "c");
  EXPECT_EQ(result.cases[0].outcome.kind, kMeasured);
  EXPECT_GT(result.cases[0].readings.size(), 5U);
  for (const std::size_t late : {1U, 2U}) {
    EXPECT_TRUE(result.cases[late].out_of_time);
    EXPECT_EQ(result.cases[late].outcome.kind, Outcome::Kind::kSkipped);
    EXPECT_EQ(result.cases[late].outcome.reason, "not reached");
  }
  EXPECT_LE(workers.clock_ns, 21e9);
}

TEST_F(GroupRunFaults, ARunnerIsNotStartedAgainWhereThatTakesTheTimeThatIsLeft) {
  end_soon({{"a", 1}, {"b", 600}, {"c@1", 1}});
  workers.starting_ns = 5e9;
  const GroupResult result = run("a", "b", "c@1");
  EXPECT_EQ(workers.started[0], 1);
  EXPECT_TRUE(result.cases[0].out_of_time && result.cases[1].out_of_time);
  EXPECT_TRUE(result.cases[2].out_of_time) << "it was not prepared in time";
  EXPECT_LE(workers.clock_ns, 15e9);
}

TEST_F(GroupRunFaults, AnotherRunnerIsNotEndedForTheOneThatIsLate) {
  end_soon({{"a", 10}, {"b@1", 600}});
  const GroupResult result = run("a", "b@1");
  EXPECT_GT(result.cases[0].readings.size(), 5U);
  EXPECT_EQ(workers.started[0], 1);
  EXPECT_TRUE(result.cases[1].out_of_time);
}

TEST_F(GroupRunFaults, FreshProcessesAreAsManyAsTheTimeAllows) {
  const auto started = [](double prepare_s, double share_ns) {
    FaultFixture fixture;
    fixture.end_soon({{"a", prepare_s}});
    fixture.settings.processes = 8;
    fixture.settings.share_ns = share_ns;
    EXPECT_EQ(fixture.run("a").cases[0].outcome.kind, kMeasured);
    EXPECT_LE(fixture.workers.clock_ns, 20.2e9);
    return fixture.workers.started[0];
  };
  EXPECT_EQ(started(4, settings.share_ns), 2) << "eight would leave nothing to sample in";
  EXPECT_EQ(started(4, 5e9), 1) << "the others of the run need time, too";
  EXPECT_EQ(started(0.1, settings.share_ns), 8);
}

TEST_F(GroupRunFaults, ARunnerThatTakesLongToStartStaysForTheNextGroup) {
  for (const double starting_s : {1., 15.}) {
    FaultFixture fixture;
    fixture.end_soon({{"a", 1}});
    fixture.settings.processes = 8;
    fixture.workers.starting_ns = starting_s * 1e9;
    fixture.workers.at(0);
    fixture.run("a");
    const bool stays = starting_s > 10;
    EXPECT_EQ(fixture.workers.events.front().what, stays ? 'p' : 'x');
    EXPECT_EQ(fixture.workers.started[0] == 1, stays) << "nor is there time for another one";
  }
}

TEST_F(GroupRunFaults, WithoutAnEndEachGroupHasFreshRunners) {
  end_soon({{"a", 1}});
  settings.end_ns = std::numeric_limits<double>::infinity();
  settings.stop.max_samples = 16;
  settings.processes = 2;
  workers.starting_ns = 1e15;
  workers.at(0);
  run("a");
  EXPECT_EQ(workers.started[0], 3);
}

TEST_F(GroupRunFaults, ALongSampleMayEndAfterTheTimeOfTheRun) {
  end_soon({{"a", 0}});
  fake("a").ns = 15e9;
  fake("a").factor = {};
  const GroupResult result = run("a");
  EXPECT_THAT(result.cases[0].readings, SizeIs(1));
  EXPECT_EQ(result.stop, StopReason::kMaxTime);
  EXPECT_LE(workers.clock_ns, 46e9);
}

TEST_F(GroupRunFaults, AGroupThatIsNotReachedHasRowsThatSaySo) {
  const Group group{"dot", {planned_case("a"), planned_case("b")}};
  const auto records = case_records(unreached(group, "not reached within 20 s"), {"fake"}, nullptr);
  ASSERT_THAT(records, SizeIs(2));
  for (const Record& record : records) {
    EXPECT_TRUE(is_unreached(record));
    EXPECT_EQ(record.outcome.reason, "not reached within 20 s");
  }
}

TEST_F(GroupRunFaults, ATraceIsMadeOfEachCaseThatHasSamplesAfterThem) {
  ask_for_traces();
  settings.processes = 2;
  fake("c").outcome = {kFailed, "wrong answer"};
  const GroupResult result = run("a", "b@1", "c");
  EXPECT_THAT(workers.traces, ElementsAre("/traces/dot.a.json"));
  EXPECT_EQ(result.cases[0].trace, "/traces/dot.a.json");
  EXPECT_THAT(result.cases[1].untraced, HasSubstr("cannot record"));
  EXPECT_THAT(result.cases[2].untraced, IsEmpty());
  const auto& events = workers.events;
  const auto trace = std::ranges::find(events, 't', &FakeEvent::what);
  EXPECT_EQ(std::count_if(trace, events.end(), [](const FakeEvent& event) { return event.what == 's'; }), 0);
}

// A recorder may affect the process.
TEST_F(GroupRunFaults, NothingIsSampledInAProcessThatRecorded) {
  run("a");
  EXPECT_EQ(workers.started[0], 1);
  run("a");
  EXPECT_EQ(workers.started[0], 1) << "without a trace the process serves the next group too";
  ask_for_traces();
  run("a");
  EXPECT_EQ(workers.started[0], 1);
  EXPECT_EQ(workers.events.back().what, 'x');
  run("a");
  EXPECT_EQ(workers.started[0], 2);
}

TEST_F(GroupRunFaults, ARunnerLostInTracingKeepsItsSamples) {
  ask_for_traces();
  fake("a").lost_in_trace = true;
  fake("b").untraced = "no space left";
  const GroupResult result = run("a", "b", "c");
  for (const Track& track : result.cases) EXPECT_EQ(track.outcome.kind, kMeasured) << track.outcome.reason;
  EXPECT_THAT(result.cases[0].untraced, HasSubstr("killed by signal 11"));
  EXPECT_EQ(result.cases[1].untraced, "no space left");
  EXPECT_THAT(result.cases[1].trace, IsEmpty());
  EXPECT_EQ(result.cases[2].trace, "/traces/dot.c.json");
}

TEST_F(GroupRunFaults, AFailureInCalibrationLeavesTheOthers) {
  fake("a").fails_at = 0;
  const GroupResult result = run("a", "b");
  EXPECT_EQ(result.cases[0].outcome.reason, "boom");
  EXPECT_GE(result.cases[1].readings.size(), 30U);
}

TEST_F(GroupRunFaults, ASampleOfNoTimeFailsTheCase) {
  fake("a").ns = 0;
  const GroupResult result = run("a", "b");
  EXPECT_THAT(result.cases[0].outcome.reason, HasSubstr("took no time"));
  EXPECT_GE(result.cases[1].readings.size(), 30U);
}

TEST_F(GroupRunFaults, OtherColumnsThanDeclaredFailTheCase) {
  fake("a").column_names = {"column"};
  fake("a").columns = {7};
  fake("b").column_names = {"column"};
  const GroupResult result = run("a", "b");
  EXPECT_EQ(result.cases[0].outcome.kind, kMeasured);
  EXPECT_THAT(result.cases[0].readings.front().columns, ElementsAre(7));
  EXPECT_THAT(result.cases[1].outcome.reason, HasSubstr("columns"));
}

TEST_F(GroupRunFaults, ACaseThatIsAllOverheadFailsOnlyWhereItIsSubtracted) {
  for (const bool subtracts : {true, false}) {
    GroupFixture fixture;
    fixture.settings.subtracts_overhead = subtracts;
    fixture.fake("a") = {.ns = 1e6, .columns = {1e6}, .column_names = {kClockOverhead}};
    const GroupResult result = fixture.run("a", "b");
    EXPECT_EQ(result.cases[0].outcome.kind, subtracts ? Outcome::Kind::kFailed : kMeasured);
    EXPECT_EQ(result.cases[0].readings.empty(), subtracts);
    EXPECT_EQ(result.cases[1].outcome.kind, kMeasured);
  }
}

TEST_F(GroupRunFaults, ARunnerLostInPrepareLosesOnlyThatCase) {
  fake("b").lost_in_prepare = 1;
  const GroupResult result = run("a", "b", "c");
  EXPECT_EQ(result.cases[1].outcome.reason, "the runner was killed by signal 11");
  EXPECT_EQ(workers.started[0], 2);
  EXPECT_EQ(workers.count('p', "dot/a@0"), 2U);
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(result.cases[i].outcome.kind, kMeasured);
    EXPECT_GE(result.cases[i].readings.size(), 30U);
    EXPECT_EQ(result.cases[i].pids.at(result.cases[i].readings[0].epoch), 1002);
  }
}

TEST_F(GroupRunFaults, ARunnerLostWhileSamplingIsReplacedForTheOthers) {
  fake("b").lost_at = 20;
  const GroupResult result = run("a", "b", "c@1");
  EXPECT_EQ(result.cases[1].outcome.reason, "the runner was killed by signal 9");
  EXPECT_GT(result.cases[1].readings.size(), 5U);
  EXPECT_EQ(workers.started[0], 2);
  EXPECT_EQ(workers.started[1], 1);
  EXPECT_THAT(result.cases[0].pids, ElementsAre(1001, 1002));
  EXPECT_THAT(result.cases[2].pids, ElementsAre(2001, 2001)) << "the other runner goes on in its process";
  EXPECT_EQ(result.cases[0].readings.front().epoch, 0U);
  EXPECT_EQ(result.cases[0].readings.back().epoch, 1U);
  EXPECT_EQ(result.cases[0].readings.size(), result.cases[2].readings.size());
  EXPECT_EQ(result.cases[0].readings.back().round, result.cases[2].readings.back().round);
}

TEST_F(GroupRunFaults, SeveralLossesOneInsideTheOther) {
  fake("a").lost_at = 20;
  const GroupResult before = GroupFixture().run("a");
  ASSERT_GE(before.cases[0].readings.size(), 30U);
  workers.on_sample = [&] {
    if (fake("a").samples == 20) fake("b").lost_in_prepare = 1;
  };
  const GroupResult result = run("a", "b", "c", "d");
  EXPECT_EQ(result.cases[0].outcome.kind, kFailed);
  EXPECT_EQ(result.cases[1].outcome.kind, kFailed);
  EXPECT_EQ(workers.started[0], 3);
  for (const std::size_t i : {2U, 3U}) {
    EXPECT_EQ(result.cases[i].outcome.kind, kMeasured) << result.cases[i].outcome.reason;
    EXPECT_GE(result.cases[i].readings.size(), 30U);
    EXPECT_EQ(result.cases[i].pids.at(result.cases[i].readings.back().epoch), 1003);
  }
}

TEST_F(GroupRunFaults, AllLostEndsTheGroup) {
  fake("a").lost_at = 15;
  fake("b").lost_at = 18;
  const GroupResult result = run("a", "b");
  EXPECT_EQ(result.stop, StopReason::kRunnerLost);
  for (const Track& track : result.cases) {
    EXPECT_EQ(track.outcome.kind, kFailed);
    EXPECT_FALSE(track.readings.empty());
  }
}

TEST_F(GroupRunFaults, ALimitThatIsLostLeavesTheCase) {
  settings.limits = true;
  offers = {{"mine", {}, false},
            {"native",
             {{"limit.read", "", "", "cpu", {{"bytes", Axis::Kind::kInteger, {"1"}}}, {"native"}, true}},
             true}};
  fake("a").work = {.bytes = 1e6, .dtype = {}};
  workers.cases["limit.read/native@1"] = {.ns = 1e5, .work = {.bytes = 1e6, .dtype = {}}, .lost_at = 15};
  const GroupResult result = run("a");
  EXPECT_EQ(result.cases[0].outcome.kind, kMeasured);
  EXPECT_GE(result.cases[0].readings.size(), 30U);
  ASSERT_THAT(result.limits, SizeIs(1));
  EXPECT_FALSE(result.limits[0].track.alive());
}

Track track_of(const std::string& experiment, const std::string& backend) {
  Track track;
  track.planned.spec = {.experiment = experiment, .axes = {{"D", "64"}}, .backend = backend};
  track.planned.device = "cpu";
  track.info.work = {.flops = 2e6, .bytes = 4e6, .dtype = "f32"};
  track.info.metrics = {{"wait", "us", Direction::kLowerIsBetter, ReportedMetric::Kind::kColumn}};
  track.info.notes = {{"isa", "sse"}};
  track.info.sums_in = Precision::kF32;
  track.iterations = 7;
  return track;
}

Reading reading_of(std::uint32_t round, std::uint32_t epoch, double ns) {
  Reading reading{round, epoch, ns, {.steal_ms = 1, .frequency_mhz = 3000, .placement_ns = 40}, {}, {ns / 3}};
  reading.device.power_w = 200;
  return reading;
}

template <typename AfterRound>
GroupResult measured(AfterRound after_round) {
  GroupResult result;
  result.title = "gemv D=64";
  result.cases = {track_of("gemv", "native"), track_of("gemv", "reference")};
  result.limits = {{Resource::kRead, track_of("limit.read", "native")},
                   {Resource::kRead, track_of("limit.read", "other")}};
  for (std::uint32_t round = 0; round < 40; ++round) {
    const std::uint32_t epoch = round / 20;
    for (Track* track :
         {&result.cases[0], &result.cases[1], &result.limits[0].track, &result.limits[1].track}) {
      if (!track->is_sampled()) continue;
      if (round % 20 == 0) track->pids.push_back(100 + epoch);
      const double ns = track == &result.limits[1].track ? 900 : 1000 + round % 7;
      track->readings.push_back(reading_of(round, epoch, ns));
    }
    if (round == 5) result.limits[1].track.rests = true;
    if (round == 30) result.cases[1].outcome = {Outcome::Kind::kFailed, "it broke"};
    after_round(result);
  }
  return result;
}

std::string text_of(const GroupResult& result) {
  return to_json_text(case_records(result, {"native"}, std::make_shared<Environment>()));
}

GroupResult replayed(const GroupResult& result) {
  GroupResult replayed;
  GroupJournal([&](const Json& line) { replay(line, replayed); }).note(result);
  return replayed;
}

TEST(GroupJournal, WhatIsReadAfterEachRoundMakesTheSameRecords) {
  GroupResult replayed;
  std::size_t lines = 0;
  GroupJournal journal([&](const Json& line) {
    ++lines;
    EXPECT_TRUE(replay(parse_json(dump_json(line), "line"), replayed));
  });
  measured([&](const GroupResult& result) {
    journal.note(result);
    ASSERT_EQ(text_of(replayed), text_of(result));
  });
  // One a round; all at the start, with each process, and when a limit rests or a case fails.
  EXPECT_EQ(lines, 40U + 4U);
}

TEST(GroupJournal, RanksAreKept) {
  GroupResult result;
  result.title = "all_reduce";
  result.cases = {track_of("all_reduce", "gloo")};
  result.cases[0].pids = {1};
  result.cases[0].planned.each_rank_counts = true;
  for (std::uint32_t round = 0; round < 8; ++round) {
    result.cases[0].readings.push_back(reading_of(round, 0, 500 + round));
    result.cases[0].readings.back().ranks = {{11, 400, {3}}, {12, 500, {4}}};
  }
  EXPECT_EQ(text_of(replayed(result)), text_of(result));
}

TEST(GroupJournal, WhatTheHardwareCountedIsKept) {
  GroupResult result;
  result.title = "gemv";
  result.cases = {track_of("gemv", "native")};
  result.cases[0].pids = {1};
  result.cases[0].readings = {reading_of(0, 0, 500)};
  result.cases[0].counted = {{0, {.instructions = 700, .memory_bytes = 4096, .share = 0.5}}};
  EXPECT_EQ(text_of(replayed(result)), text_of(result));
  EXPECT_EQ(replayed(result).cases.at(0).counted.at(0).counts, result.cases[0].counted[0].counts);
}

TEST(GroupJournal, AnotherGroupBeginsAnew) {
  GroupResult replayed;
  GroupJournal journal([&](const Json& line) { replay(line, replayed); });
  GroupResult result = measured([&](const GroupResult& so_far) { journal.note(so_far); });
  result.title = "gemv D=128";
  for (Track& track : result.cases) track.readings.resize(1);
  result.limits[0].track.readings.clear();
  journal.note(result);
  EXPECT_EQ(replayed.title, "gemv D=128");
  EXPECT_THAT(replayed.cases[0].readings, SizeIs(1));
}

TEST(GroupJournal, LinesThatAreOfNoGroupAreRefused) {
  GroupResult result;
  EXPECT_FALSE(replay(Json{{"else", 1}}, result));
  for (const char* text :
       {R"({"readings":5})", R"({"readings":[5]})", R"({"readings":[[0,{}]]})", R"({"readings":[[-1,{}]]})",
        R"({"group":5})", R"({"group":{"title":"t"}})", R"({"group":{"title":"t","cases":[{}],"limits":[]}})",
        R"({"group":{"title":"t","cases":[],"limits":[{"resource":6,"track":{}}]}})"}) {
    EXPECT_THROW(replay(parse_json(text, "line"), result), Error) << text;
  }
}

TEST(GroupJournal, AReadingOfAProcessThatIsNotThereIsRefused) {
  GroupResult result;
  GroupJournal journal([&](const Json& line) { replay(line, result); });
  GroupResult one;
  one.title = "t";
  one.cases = {track_of("gemv", "native")};
  journal.note(one);
  one.cases[0].readings = {reading_of(0, 0, 5)};
  EXPECT_THROW(journal.note(one), Error);
}

}  // namespace
}  // namespace headroom
