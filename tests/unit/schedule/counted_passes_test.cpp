// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/counted_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fake_workers.h"
#include "headroom/machine/last_level_cache.h"
#include "headroom/record/counted_metrics.h"
#include "headroom/schedule/case_records.h"

namespace headroom {
namespace {

using testing::HasSubstr;

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
    group.workers.cases["dot/native@0"].counts = {counted(700, 4096), ""};
  }
  const Record* record(const GroupResult& result, const std::string& metric) {
    records = case_records(result, {"native", "other"}, nullptr);
    const auto found = std::ranges::find(records, metric, [](const Record& one) { return one.metric.name; });
    return found == records.end() ? nullptr : &*found;
  }

  GroupFixture group{2};
  std::vector<Record> records;
};

TEST_F(Counting, FollowsTheSamplesOfEachProcessAndIsARecordOfEachQuantity) {
  group.settings.processes = 2;
  const GroupResult result = group.run({planned_case("native")});
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
  // No sample comes after a pass, in the same process.
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
    group.run({planned_case("native")});
    EXPECT_EQ(group.workers.count('c', "dot/native@0"), passes) << samples;
  }
}

TEST_F(Counting, IsNotAskedOfWhoCannotNorOfADeviceNorWhereItIsNotWanted) {
  PlannedCase on_device = planned_case("native");
  on_device.device = "cuda";
  group.run({on_device});
  group.run({planned_case("native", 1)});
  group.settings.counts = false;
  group.run({planned_case("native")});
  EXPECT_TRUE(std::ranges::none_of(group.workers.events, [](const FakeEvent& e) { return e.what == 'c'; }));
}

TEST_F(Counting, ThatFailsOrKillsTheRunnerCostsNoSamples) {
  group.workers.cases["dot/native@0"].counts = {{}, "another program has them"};
  GroupResult result = group.run({planned_case("native")});
  EXPECT_TRUE(result.cases[0].alive());
  EXPECT_EQ(result.cases[0].uncounted, "another program has them");
  EXPECT_EQ(record(result, kInstructions), nullptr);
  EXPECT_EQ(record(result, "latency")->model.extra_info.at("uncounted"), "another program has them");

  group.workers.cases["dot/native@0"].lost_in_count = true;
  result = group.run({planned_case("native"), planned_case("reference")});
  EXPECT_TRUE(result.cases[0].alive());
  EXPECT_THAT(result.cases[0].uncounted, HasSubstr("signal 11"));
  EXPECT_GE(result.cases[0].readings.size(), 30U);
}

TEST_F(Counting, HasMissesTimesTheLineAndSaysWhereCountersTookTurns) {
  WorkCounts counts;
  counts.cache_misses = 10;
  counts.share = 0.5;
  GroupResult result = group.run({planned_case("native")});
  result.cases[0].counted = {{0, counts}, {0, counts}};
  const Record* volume = record(result, kMissVolume);
  ASSERT_NE(volume, nullptr);
  EXPECT_EQ(volume->metric.value, 10.0 * static_cast<double>(cache_line_bytes()));
  EXPECT_EQ(volume->metric.extra_info.at(kCountedShare), "0.500");
}

TEST_F(Counting, LeavesTheSeriesThatACaseTellsThoseOfItsSamples) {
  group.settings.stop.min_samples = group.settings.stop.max_samples = 3;
  GroupResult result = group.run({planned_case("native")});
  const std::uint64_t after = result.cases[0].calls_after;
  ASSERT_GT(after, 0U);
  std::vector<double> told{-1, 1, 2, 3};  // one of the warm-up, and then those of the samples
  told.resize(told.size() + after, 99);
  result.cases[0].told = {Conclusion{"", {}, {{"loss", "1", told, {}}}}};
  EXPECT_EQ(record(result, "loss")->samples.at(0).values, (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace headroom
