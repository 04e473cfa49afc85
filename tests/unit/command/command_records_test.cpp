// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_commands.h"

namespace headroom {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const Record* find(const std::vector<Record>& records, const std::string& name, const std::string& metric) {
  const auto found = std::ranges::find_if(records, [&](const Record& record) {
    return record.model.name == name && record.metric.name == metric;
  });
  return found == records.end() ? nullptr : &*found;
}

CommandTrack track(const std::string& name, double wall_ns, std::size_t runs) {
  CommandTrack track;
  track.planned = FakeCommands::command(name);
  for (std::size_t i = 0; i < runs; ++i) {
    CommandSample sample;
    sample.round = static_cast<std::uint32_t>(i);
    sample.wall_ns = wall_ns * (1 + 1e-3 * static_cast<double>(i % 5));
    sample.user_ns = wall_ns / 2;
    sample.peak_rss_bytes = 8 << 20;
    sample.page_faults = 100;
    sample.context_switches = 3;
    track.samples.push_back(sample);
  }
  return track;
}

TEST(CommandRecords, OneOfEachCommandAndMetric) {
  CommandGroup group{{track("a", 1e6, 20), track("b", 2e6, 20)}, StopReason::kPrecision};
  group.commands[1].planned.parameters = {{"n", "4"}};
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
  CommandGroup group{{track("a", 1e6, 10)}, StopReason::kMaxTime};
  group.commands[0].samples[3].exit_code = -9;
  const std::vector<Record> records = command_records(group, nullptr);
  ASSERT_NE(find(records, "a", "exit_code"), nullptr);
  EXPECT_EQ(find(records, "a", "exit_code")->samples.at(0).values.at(3), -9);
  EXPECT_THAT(records.front().notes, Contains(HasSubstr("1 of 10 runs (signal 9)")));
  EXPECT_THAT(records.front().notes, Contains(HasSubstr("time cap")));
}

TEST(CommandRecords, TimesThatFallIntoGroupsAreTold) {
  CommandGroup group{{track("a", 10e6, 40), track("b", 10e6, 40)}, StopReason::kMaxTime};
  for (std::size_t i = 0; i < 40; i += 2) group.commands[1].samples[i].wall_ns *= 1.4;
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
  CommandGroup group{{track("a", 1e6, 10)}, StopReason::kPrecision};
  for (CommandSample& sample : group.commands[0].samples) sample.counters = {1e6, 5e5, std::nullopt, 7.0};
  group.commands[0].samples[2].counters[3].reset();
  const std::vector<Record> records = command_records(group, nullptr);
  EXPECT_EQ(find(records, "a", "instructions")->metric.value, 1e6);
  EXPECT_EQ(find(records, "a", "cycles")->metric.value, 5e5);
  EXPECT_EQ(find(records, "a", "cache_misses"), nullptr);
  EXPECT_EQ(find(records, "a", "branch_misses"), nullptr);
}

TEST(CommandRecords, APeakThatIsOursIsSaidToBe) {
  CommandGroup group{{track("a", 1e6, 10)}, StopReason::kPrecision};
  group.commands[0].peak_rss_floor_bytes = 8 << 20;
  EXPECT_EQ(find(command_records(group, nullptr), "a", "peak_memory")->metric.extra_info.count("at_most"),
            1U);
  group.commands[0].peak_rss_floor_bytes = (8 << 20) - 1;
  EXPECT_EQ(find(command_records(group, nullptr), "a", "peak_memory")->metric.extra_info.count("at_most"),
            0U);
}

TEST(CommandRecords, ACommandWithoutSamplesHasOneRecordThatSaysWhy) {
  CommandGroup group{{track("a", 1e6, 10), track("b", 1e6, 0), track("c", 1e6, 0)}, StopReason::kInterrupted};
  group.commands[1].outcome = {Outcome::Kind::kFailed, "exit code 3"};
  const std::vector<Record> records = command_records(group, nullptr);
  const Record* failed = find(records, "b", "latency");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->outcome.reason, "exit code 3");
  EXPECT_EQ(find(records, "c", "latency")->outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_EQ(std::ranges::count_if(records, [](const Record& record) { return record.model.name == "c"; }), 1);
}

}  // namespace
}  // namespace headroom
