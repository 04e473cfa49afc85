// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <memory>

#include "headroom/command/command_causes.h"

namespace headroom {
namespace {

using namespace testing;

class CountsOfCommands : public Test {
 protected:
  void add(const char* metric, std::vector<double> values, bool is_by_callgrind = false) {
    Record record;
    record.environment = environment_;
    record.metric.name = metric;
    record.metric.unit = "1";
    if (is_by_callgrind) record.metric.extra_info[kCountedBy] = "callgrind";
    record.samples.resize(1);
    for (std::uint32_t round = 0; round < values.size(); ++round)
      record.samples.front().rounds.push_back(round);
    record.samples.front().values = std::move(values);
    estimate(record);
    records_.push_back(std::move(record));
  }
  void add_pair(const std::vector<double>& before, const std::vector<double>& after, bool is_by_callgrind) {
    for (const auto& values : {before, after}) {
      add("latency", {1, 1, 1});
      if (!values.empty()) add(kInstructions, values, is_by_callgrind);
    }
  }
  ExitCode gate(double margin) {
    std::vector<const Record*> latencies;
    for (const Record& record : records_) {
      if (record.metric.name == "latency") latencies.push_back(&record);
    }
    const RoundComparison one{compare_records(*latencies[0], *latencies[1])};
    return round_gate_result(count_outcomes(records_, std::span(&one, 1), margin), margin,
                             {"more", "not counted"})
        .exit;
  }

  std::shared_ptr<const Environment> environment_ = std::make_shared<Environment>();
  std::vector<Record> records_;
};

TEST_F(CountsOfCommands, TheIntervalOfCallgrindIsFromBothCountsOfTheFirst) {
  add_pair({100000, 100002}, {101001}, true);
  const auto ratio = count_ratio(records_[1], records_[3]);
  ASSERT_TRUE(ratio && ratio->interval);
  EXPECT_NEAR(ratio->ratio, 1.01, 1e-6);
  EXPECT_NEAR(ratio->interval->high - ratio->interval->low, 0.00044, 1e-6);
  EXPECT_EQ(gate(0.005), ExitCode::kFailure);
  EXPECT_EQ(gate(0.010), ExitCode::kInconclusive);
  EXPECT_EQ(gate(0.020), ExitCode::kSuccess);
}

TEST_F(CountsOfCommands, HardwareCountersArePairedByRound) {
  add_pair({1000, 2000, 1000, 2000, 1000, 2000, 1500, 1300}, {1010, 2020, 1010, 2021, 1010, 2020, 1515, 1313},
           false);
  const auto ratio = count_ratio(records_[1], records_[3]);
  ASSERT_TRUE(ratio && ratio->interval);
  EXPECT_NEAR(ratio->ratio, 1.01, 1e-4);
  EXPECT_EQ(gate(0.005), ExitCode::kFailure);
  EXPECT_EQ(gate(0.020), ExitCode::kSuccess);
}

TEST_F(CountsOfCommands, DifferentSourcesAreNotCompared) {
  add("latency", {1});
  add(kInstructions, {1000}, true);
  add("latency", {1});
  add(kInstructions, {1000});
  EXPECT_FALSE(count_ratio(records_[1], records_[3]));
  EXPECT_EQ(gate(0.01), ExitCode::kError);
}

TEST_F(CountsOfCommands, AMissingCountIsAnError) {
  add_pair({1000, 1000}, {}, true);
  EXPECT_EQ(metric_of(records_, records_[2], kInstructions), nullptr);
  EXPECT_EQ(gate(0.01), ExitCode::kError);
}

TEST_F(CountsOfCommands, CountsOfTwoSessionsAreNotCompared) {
  add("latency", {1});
  add(kInstructions, {1000}, true);
  Environment other;
  other.session = "another";
  environment_ = std::make_shared<Environment>(other);
  add(kInstructions, {1000}, true);
  EXPECT_THAT(compare_records(records_[1], records_[2]).problem, HasSubstr("counted apart"));
}

}  // namespace
}  // namespace headroom
