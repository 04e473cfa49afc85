// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_workers.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kFailed = Outcome::Kind::kFailed;
constexpr auto kMeasured = Outcome::Kind::kMeasured;

TEST(GroupRunFaults, ASkippedOrFailedCaseDoesNotStopTheOthers) {
  GroupFixture fixture(1);
  fixture.workers.cases["dot/b@0"].outcome = {Outcome::Kind::kSkipped, "no AMX"};
  fixture.workers.cases["dot/c@0"].outcome = {kFailed, "wrong answer"};
  const GroupResult result = fixture.run({planned_case("b"), planned_case("a"), planned_case("c")});
  EXPECT_EQ(result.cases[0].outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_EQ(result.cases[0].outcome.reason, "no AMX");
  EXPECT_EQ(result.cases[2].outcome.reason, "wrong answer");
  EXPECT_EQ(result.cases[1].outcome.kind, kMeasured);
  EXPECT_GE(result.cases[1].readings.size(), 30U);
  EXPECT_THAT(result.cases[0].readings, IsEmpty());
  EXPECT_EQ(result.stop, StopReason::kPrecision);
}

TEST(GroupRunFaults, AllSkippedStopsForNoReason) {
  GroupFixture fixture(1);
  fixture.settings.limits = true;
  fixture.settings.processes = 3;
  fixture.workers.cases["dot/a@0"].outcome = {Outcome::Kind::kSkipped, "no AMX"};
  const GroupResult result = fixture.run({planned_case("a")});
  EXPECT_EQ(result.stop, StopReason::kNone);
  EXPECT_EQ(fixture.workers.count('p', "dot/a@0"), 1U);
}

TEST(GroupRunFaults, AFailingSampleKeepsWhatWasGivenAndIsReleased) {
  GroupFixture fixture(1);
  fixture.workers.cases["dot/b@0"].fails_at = 20;
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b")});
  EXPECT_EQ(result.cases[1].outcome.kind, kFailed);
  EXPECT_EQ(result.cases[1].outcome.reason, "boom");
  EXPECT_GT(result.cases[1].readings.size(), 5U);
  EXPECT_LT(result.cases[1].readings.size(), 20U);
  EXPECT_GE(result.cases[0].readings.size(), 30U);
  EXPECT_EQ(fixture.workers.count('r', "dot/b@0"), 1U);
  EXPECT_EQ(fixture.workers.started[0], 1);
}

TEST(GroupRunFaults, StrictlyWhatSumsInLessThanF32Fails) {
  GroupFixture fixture(1);
  fixture.settings.processes = 2;
  fixture.workers.cases["dot/b@0"].sums_in = Precision::kBf16;
  fixture.workers.cases["dot/c@0"].sums_in = Precision::kF32;
  const std::vector<PlannedCase> planned{planned_case("a"), planned_case("b"), planned_case("c")};
  EXPECT_EQ(fixture.run(planned).cases[1].outcome.kind, kMeasured) << "not asked for";
  fixture.settings.strict = true;
  const GroupResult result = fixture.run(planned);
  EXPECT_EQ(result.cases[0].outcome.kind, kMeasured) << "it declares nothing";
  EXPECT_EQ(result.cases[2].outcome.kind, kMeasured);
  EXPECT_EQ(result.cases[1].outcome.kind, kFailed);
  EXPECT_THAT(result.cases[1].outcome.reason, HasSubstr("sums in bf16"));
  EXPECT_THAT(result.cases[1].outcome.reason, HasSubstr("--strict asks for f32"));
  EXPECT_THAT(result.cases[1].readings, IsEmpty());
  EXPECT_EQ(fixture.workers.prepared_now(0), 0U) << "it is released";
}

TEST(GroupRunFaults, StrictlyAGroupOfNothingElseEnds) {
  GroupFixture fixture(1);
  fixture.settings.strict = true;
  fixture.workers.cases["dot/a@0"].sums_in = Precision::kF16;
  const GroupResult result = fixture.run({planned_case("a")});
  EXPECT_EQ(result.cases[0].outcome.kind, kFailed);
  EXPECT_EQ(fixture.workers.count('s', "dot/a@0"), 0U);
}

void ask_for_traces(GroupFixture& fixture) {
  fixture.settings.traces = "/traces";
  fixture.offers = {{"torch", {}, false, true}, {"native", {}, false, false}};
}

TEST(GroupRunFaults, ATraceIsMadeOfEachCaseThatHasSamplesAfterThem) {
  GroupFixture fixture(2);
  ask_for_traces(fixture);
  fixture.settings.processes = 2;
  fixture.workers.cases["dot/c@0"].outcome = {kFailed, "wrong answer"};
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b", 1), planned_case("c")});
  EXPECT_THAT(fixture.workers.traces, ElementsAre("/traces/dot.a.json"));
  EXPECT_EQ(result.cases[0].trace, "/traces/dot.a.json");
  EXPECT_THAT(result.cases[1].untraced, HasSubstr("cannot record"));
  EXPECT_THAT(result.cases[2].untraced, IsEmpty());
  const auto& events = fixture.workers.events;
  const auto trace = std::ranges::find(events, 't', &FakeEvent::what);
  EXPECT_EQ(std::count_if(trace, events.end(), [](const FakeEvent& event) { return event.what == 's'; }), 0);
}

// A recorder may leave something in the process: what is timed later is timed in another.
TEST(GroupRunFaults, NothingIsSampledInAProcessThatRecorded) {
  GroupFixture fixture(1);
  fixture.run({planned_case("a")});
  EXPECT_EQ(fixture.workers.started[0], 1);
  fixture.run({planned_case("a")});
  EXPECT_EQ(fixture.workers.started[0], 1) << "without a trace the process serves the next group too";
  ask_for_traces(fixture);
  fixture.run({planned_case("a")});
  EXPECT_EQ(fixture.workers.started[0], 1);
  EXPECT_EQ(fixture.workers.events.back().what, 'x');
  fixture.run({planned_case("a")});
  EXPECT_EQ(fixture.workers.started[0], 2);
}

TEST(GroupRunFaults, ARunnerLostInTracingKeepsItsSamples) {
  GroupFixture fixture(2);
  ask_for_traces(fixture);
  fixture.workers.cases["dot/a@0"].lost_in_trace = true;
  fixture.workers.cases["dot/b@0"].untraced = "no space left";
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b"), planned_case("c")});
  for (const Track& track : result.cases) EXPECT_EQ(track.outcome.kind, kMeasured) << track.outcome.reason;
  EXPECT_THAT(result.cases[0].untraced, HasSubstr("killed by signal 11"));
  EXPECT_EQ(result.cases[1].untraced, "no space left");
  EXPECT_THAT(result.cases[1].trace, IsEmpty());
  EXPECT_EQ(result.cases[2].trace, "/traces/dot.c.json");
}

TEST(GroupRunFaults, AFailureInCalibrationLeavesTheOthers) {
  GroupFixture fixture(1);
  fixture.workers.cases["dot/a@0"].fails_at = 0;
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b")});
  EXPECT_EQ(result.cases[0].outcome.reason, "boom");
  EXPECT_GE(result.cases[1].readings.size(), 30U);
}

TEST(GroupRunFaults, ASampleOfNoTimeFailsTheCase) {
  GroupFixture fixture(1);
  fixture.workers.cases["dot/a@0"].ns = 0;
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b")});
  EXPECT_THAT(result.cases[0].outcome.reason, HasSubstr("no time at all"));
  EXPECT_GE(result.cases[1].readings.size(), 30U);
}

TEST(GroupRunFaults, OtherColumnsThanDeclaredFailTheCase) {
  GroupFixture fixture(1);
  fixture.workers.cases["dot/a@0"].declared_columns = 1;
  fixture.workers.cases["dot/a@0"].columns = {7};
  fixture.workers.cases["dot/b@0"].declared_columns = 1;
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b")});
  EXPECT_EQ(result.cases[0].outcome.kind, kMeasured);
  EXPECT_THAT(result.cases[0].readings.front().columns, ElementsAre(7));
  EXPECT_THAT(result.cases[1].outcome.reason, HasSubstr("columns"));
}

TEST(GroupRunFaults, ARunnerLostInPrepareLosesOnlyThatCase) {
  GroupFixture fixture(1);
  fixture.workers.cases["dot/b@0"].lost_in_prepare = 1;
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b"), planned_case("c")});
  EXPECT_EQ(result.cases[1].outcome.reason, "the runner was killed by signal 11");
  EXPECT_EQ(fixture.workers.started[0], 2);
  EXPECT_EQ(fixture.workers.count('p', "dot/a@0"), 2U);
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(result.cases[i].outcome.kind, kMeasured);
    EXPECT_GE(result.cases[i].readings.size(), 30U);
    EXPECT_EQ(result.cases[i].pids.at(result.cases[i].readings[0].epoch), 1002);
  }
}

TEST(GroupRunFaults, ARunnerLostWhileSamplingIsReplacedForTheOthers) {
  GroupFixture fixture(2);
  fixture.workers.cases["dot/b@0"].lost_at = 20;
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b"), planned_case("c", 1)});
  EXPECT_EQ(result.cases[1].outcome.reason, "the runner was killed by signal 9");
  EXPECT_GT(result.cases[1].readings.size(), 5U);
  EXPECT_EQ(fixture.workers.started[0], 2);
  EXPECT_EQ(fixture.workers.started[1], 1);
  EXPECT_THAT(result.cases[0].pids, ElementsAre(1001, 1002));
  EXPECT_THAT(result.cases[2].pids, ElementsAre(2001, 2001)) << "the other runner goes on in its process";
  EXPECT_EQ(result.cases[0].readings.front().epoch, 0U);
  EXPECT_EQ(result.cases[0].readings.back().epoch, 1U);
  EXPECT_EQ(result.cases[0].readings.size(), result.cases[2].readings.size());
  EXPECT_EQ(result.cases[0].readings.back().round, result.cases[2].readings.back().round);
}

TEST(GroupRunFaults, SeveralLossesOneInsideTheOther) {
  GroupFixture fixture(1);
  fixture.workers.cases["dot/a@0"].lost_at = 20;
  const GroupResult before = GroupFixture(1).run({planned_case("a")});
  ASSERT_GE(before.cases[0].readings.size(), 30U);
  // Preparing b again, because a was lost, loses the runner once more.
  fixture.workers.on_sample = [&] {
    if (fixture.workers.cases["dot/a@0"].samples == 20) fixture.workers.cases["dot/b@0"].lost_in_prepare = 1;
  };
  const GroupResult result =
      fixture.run({planned_case("a"), planned_case("b"), planned_case("c"), planned_case("d")});
  EXPECT_EQ(result.cases[0].outcome.kind, kFailed);
  EXPECT_EQ(result.cases[1].outcome.kind, kFailed);
  EXPECT_EQ(fixture.workers.started[0], 3);
  for (const std::size_t i : {2U, 3U}) {
    EXPECT_EQ(result.cases[i].outcome.kind, kMeasured) << result.cases[i].outcome.reason;
    EXPECT_GE(result.cases[i].readings.size(), 30U);
    EXPECT_EQ(result.cases[i].pids.at(result.cases[i].readings.back().epoch), 1003);
  }
}

TEST(GroupRunFaults, AllLostEndsTheGroup) {
  GroupFixture fixture(1);
  fixture.workers.cases["dot/a@0"].lost_at = 15;
  fixture.workers.cases["dot/b@0"].lost_at = 18;
  const GroupResult result = fixture.run({planned_case("a"), planned_case("b")});
  EXPECT_EQ(result.stop, StopReason::kRunnerLost);
  for (const Track& track : result.cases) {
    EXPECT_EQ(track.outcome.kind, kFailed);
    EXPECT_FALSE(track.readings.empty());
  }
}

TEST(GroupRunFaults, ALimitThatIsLostLeavesTheCase) {
  GroupFixture fixture(2);
  fixture.settings.limits = true;
  fixture.offers = {
      {"mine", {}, false},
      {"native",
       {{"limit.read", "", "", "cpu", {{"bytes", Axis::Kind::kInteger, {"1"}}}, {"native"}, true}},
       true}};
  fixture.workers.cases["dot/a@0"].work = {.bytes = 1e6, .dtype = {}};
  fixture.workers.cases["limit.read/native@1"] = {
      .ns = 1e5, .work = {.bytes = 1e6, .dtype = {}}, .lost_at = 15};
  const GroupResult result = fixture.run({planned_case("a")});
  EXPECT_EQ(result.cases[0].outcome.kind, kMeasured);
  EXPECT_GE(result.cases[0].readings.size(), 30U);
  ASSERT_THAT(result.limits, SizeIs(1));
  EXPECT_FALSE(result.limits[0].track.alive());
}

}  // namespace
}  // namespace headroom
