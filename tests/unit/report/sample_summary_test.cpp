// SPDX-License-Identifier: Apache-2.0
#include "headroom/page/sample_summary.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace headroom {
namespace {

ProcessSamples process_of(std::vector<double> values, std::size_t warmup, std::uint32_t first_round) {
  ProcessSamples process;
  process.pid = 7;
  process.warmup = warmup;
  for (std::size_t i = 0; i < values.size(); ++i)
    process.rounds.push_back(first_round + static_cast<std::uint32_t>(i));
  process.noise.resize(values.size());
  process.values = std::move(values);
  return process;
}

TEST(SampleSummaryTest, FewSamplesAreThereOneByOne) {
  Record record;
  record.samples = {process_of({9, 1.23456789, 2}, 1, 0), process_of({3, 4}, 0, 3)};
  record.samples[1].noise.set(1, {.steal_ms = 1});
  EXPECT_EQ(dump_json(sample_summary(record, 100)),
            R"({"n":5,"warmup":1,"each":1,"processes":[)"
            R"({"pid":7,"warmup":1,"round":0,"values":[9.0,1.234568,2.0]},)"
            R"({"pid":7,"warmup":0,"round":3,"values":[3.0,4.0],"disturbed":[[1,"stolen"]]}]})");
}

TEST(SampleSummaryTest, ManyAreSummedUpButNeverWarmUpWithTheRest) {
  std::vector<double> values{100, 90};
  for (int i = 0; i < 98; ++i) values.push_back(i % 2 == 0 ? 1 : 3);
  Record record;
  record.samples = {process_of(values, 2, 0)};
  const Json summary = sample_summary(record, 60);
  const Json& process = summary["processes"][0];
  EXPECT_EQ(summary["each"].get<std::size_t>(), 10u);
  EXPECT_EQ(process["warmup"].get<std::size_t>(), 1u);
  EXPECT_EQ(process["values"][0].get<double>(), 95);
  EXPECT_EQ(process["low"][1].get<double>(), 1);
  EXPECT_EQ(process["values"][1].get<double>(), 2);
  EXPECT_EQ(process["high"][1].get<double>(), 3);
  std::size_t counted = 0;
  for (const std::size_t count : summary["histogram"]["counts"].get<std::vector<std::size_t>>())
    counted += count;
  EXPECT_EQ(counted, 98u);
}

TEST(SampleSummaryTest, RoundsThatSkipAndValuesThatAreNoneAreKept) {
  Record record;
  record.samples = {process_of({1, std::numeric_limits<double>::infinity(), 3}, 0, 0)};
  record.samples[0].rounds = {0, 2, 3};
  const Json summary = sample_summary(record, 100);
  const Json& process = summary["processes"][0];
  EXPECT_EQ(process["rounds"].get<std::vector<std::size_t>>(), (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_TRUE(process["values"][1].is_null());
  EXPECT_TRUE(sample_summary(Record{}, 100).is_null());
}

TEST(SampleSummaryTest, MoreRecordsHaveFewerNumbersEach) {
  EXPECT_EQ(numbers_that_fit(0), 3'000u);
  EXPECT_EQ(numbers_that_fit(24), 2'500u);
  EXPECT_EQ(numbers_that_fit(1'000'000), 12u);
}

}  // namespace
}  // namespace headroom
