// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/compare/round_verdict.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The records of a command with samples around `seconds`, in rounds of one session.
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
  EXPECT_THAT(command_legend(records), HasSubstr("  M  the times fall into several groups"));
  EXPECT_THAT(command_legend(records), Not(HasSubstr("9.00 ms")));
}

TEST(CommandTable, SaysWhatTheIntervalAllows) {
  EXPECT_THAT(text_of(two_commands(0.0099 * 0.95)), HasSubstr("): faster"));
  EXPECT_THAT(text_of(two_commands(0.010001)), HasSubstr("): the same within 1.00 %"));
  EXPECT_THAT(text_of(two_commands(0.010105)), HasSubstr("): slower"));
  EXPECT_THAT(text_of(two_commands(0.01)), Not(HasSubstr("perhaps")));
  std::vector<Record> records = two_commands(0.0101);
  EXPECT_THAT(text_of(records), HasSubstr("): slower, perhaps by less than 1.00 %"));
  records = two_commands(0.0103);
  for (Record& record : records) record.samples[0].values.resize(3), record.samples[0].rounds.resize(3);
  EXPECT_THAT(text_of(records), HasSubstr("(too few pairs for an interval): too few runs to tell"));
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
  EXPECT_THAT(text, HasSubstr("3000000 instructions, 2000000 cycles (1.50 instructions a cycle)"));
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
  records[0].notes = {"time cap: stopped", "failed: 2 of 40 runs"};
  EXPECT_THAT(command_legend(records), HasSubstr("  T  stopped by the cap"));
  EXPECT_THAT(command_legend(records), HasSubstr("  sort a: failed: 2 of 40 runs\n"));
  EXPECT_THAT(command_legend(records), Not(HasSubstr("sort a: time cap")));
}

}  // namespace
}  // namespace headroom
