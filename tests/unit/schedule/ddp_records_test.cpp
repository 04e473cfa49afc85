// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/ddp_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "record_of.h"

namespace headroom {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::HasSubstr;

/// Two ranks of ten iterations of 100 ms, of which 20 ms are exposed; 30 of 50 ms of communication are
/// hidden.
DdpResult two_ranks() {
  DdpResult result;
  result.step.label = "1M/2G";
  result.step.setup.ranks = 2;
  result.step.setup.batch_size = 8;
  result.ready.parameters = 42;
  result.reduced_bytes = {1 << 20, 4 << 20};
  for (int rank = 0; rank < 2; ++rank) {
    DdpRank& measured = result.ranks.emplace_back();
    measured.pid = 100 + rank;
    DdpRounds& rounds = measured.rounds;
    for (int i = 0; i < 10; ++i) {
      const double noise = 1e5 * i;  // of a round: in both of its iterations
      rounds.iteration_ns.push_back(100e6 + noise);
      rounds.alone_ns.push_back(80e6 + noise);
      rounds.forward_ns.push_back(30e6);
      rounds.backward_ns.push_back(40e6);
      rounds.wait_ns.push_back(20e6);
      rounds.step_ns.push_back(10e6);
      rounds.communication_ns.push_back(50e6);
      rounds.hidden_ns.push_back(30e6);
    }
    rounds.buckets = {{4096, 3, std::vector<double>(10, 5e6), std::vector<double>(10, 7e6)}};
    measured.reductions_ns = {std::vector<double>(12, 2.1e6), std::vector<double>(12, 8.1e6)};
  }
  return result;
}

TEST(DdpRecords, HaveTheIterationsOfEachRank) {
  const auto records = ddp_records(two_ranks(), "libtorch 1.13.1", nullptr);
  const Record& latency = records.front();
  EXPECT_EQ(latency.metric.name, "latency");
  EXPECT_EQ(latency.metric.unit, "s");
  EXPECT_TRUE(latency.metric.headline);
  ASSERT_EQ(latency.samples.size(), 2U);
  EXPECT_EQ(latency.samples[1].pid, 101);
  EXPECT_NEAR(latency.metric.value, 0.10045, 1e-9);
  EXPECT_NEAR(test::record_of(records, "throughput")->metric.value, 16 / 0.10045, 0.1);
  EXPECT_EQ(test::record_of(records, "throughput")->metric.direction, Direction::kHigherIsBetter);
}

TEST(DdpRecords, ExposedCommunicationIsTheDifferenceInTheSameRound) {
  const auto records = ddp_records(two_ranks(), "libtorch 1.13.1", nullptr);
  EXPECT_THAT(test::record_of(records, "exposed communication")->samples[0].values,
              Each(DoubleNear(0.02, 1e-12)));
  EXPECT_THAT(test::record_of(records, "overlap")->samples[1].values, Each(DoubleNear(0.6, 1e-12)));
}

TEST(DdpRecords, TellBucketsAndWhatAnAllReduceCosts) {
  const auto records = ddp_records(two_ranks(), "libtorch 1.13.1", nullptr);
  EXPECT_NEAR(test::record_of(records, "bucket 0 launched")->metric.value, 5000, 1e-6);
  EXPECT_EQ(test::record_of(records, "bucket 0 completed")->metric.extra_info.at("bytes"), "4096");
  EXPECT_EQ(test::record_of(records, "bucket 1 launched"), nullptr);
  EXPECT_NEAR(test::record_of(records, "all-reduce alpha")->metric.value, 100, 1e-6);
  EXPECT_NEAR(test::record_of(records, "all-reduce beta")->metric.value, 2000, 1e-6);
}

TEST(DdpRecords, OfOneRankHaveNoCommunication) {
  DdpResult result = two_ranks();
  result.ranks.pop_back();
  result.ranks[0].rounds.alone_ns.clear();
  const auto records = ddp_records(result, "libtorch 1.13.1", nullptr);
  EXPECT_NE(test::record_of(records, "latency"), nullptr);
  for (const char* metric : {"exposed communication", "communication", "overlap", "all-reduce alpha"})
    EXPECT_EQ(test::record_of(records, metric), nullptr) << metric;
}

TEST(DdpRecords, SayWhyThereIsNothing) {
  DdpResult result = two_ranks();
  result.outcome = {Outcome::Kind::kFailed, "the reduction failed"};
  auto records = ddp_records(result, "libtorch 1.13.1", nullptr);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].outcome.reason, "the reduction failed");
  EXPECT_TRUE(records[0].samples.empty());
  result = {};
  EXPECT_THAT(ddp_records(result, "", nullptr).at(0).outcome.reason, HasSubstr("before its first iteration"));
  result.step.is_warmup = true;
  EXPECT_TRUE(ddp_records(result, "", nullptr).empty());
}

TEST(DdpRecords, NoteUnusedParameters) {
  DdpResult result = two_ranks();
  result.ranks[0].agreement.unused = {"fc.bias", "fc.weight"};
  EXPECT_THAT(ddp_records(result, "", nullptr).at(0).notes.at(0), HasSubstr("fc.bias, fc.weight"));
}

}  // namespace
}  // namespace headroom
