// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/group_journal.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/record/codec.h"
#include "headroom/schedule/case_records.h"

namespace headroom {
namespace {

using testing::SizeIs;

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

/// A group as two processes give it, in which one case fails in the middle and a
/// limit rests before; `after_round` sees each round.
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
    // By the few readings that it has, it would be the better one.
    if (round == 5) result.limits[1].track.rests = true;
    if (round == 30) result.cases[1].outcome = {Outcome::Kind::kFailed, "it broke"};
    after_round(result);
  }
  return result;
}

std::string text_of(const GroupResult& result) {
  return to_json_text(case_records(result, {"native"}, std::make_shared<Environment>()));
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
  // One a round; the whole at first, with each process, where a limit rests and where a case has failed.
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
  GroupResult replayed;
  GroupJournal journal([&](const Json& line) { replay(line, replayed); });
  journal.note(result);
  EXPECT_EQ(text_of(replayed), text_of(result));
}

TEST(GroupJournal, WhatTheHardwareCountedIsKept) {
  GroupResult result;
  result.title = "gemv";
  result.cases = {track_of("gemv", "native")};
  result.cases[0].pids = {1};
  result.cases[0].readings = {reading_of(0, 0, 500)};
  result.cases[0].counted = {{0, {.instructions = 700, .memory_bytes = 4096, .share = 0.5}}};
  GroupResult replayed;
  GroupJournal journal([&](const Json& line) { replay(line, replayed); });
  journal.note(result);
  EXPECT_EQ(text_of(replayed), text_of(result));
  EXPECT_EQ(replayed.cases.at(0).counted.at(0).counts, result.cases[0].counted[0].counts);
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
