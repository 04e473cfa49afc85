// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/case_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sample_experiments.h"

namespace headroom {
namespace {

class CaseThreads : public testing::Test {
 protected:
  std::unique_ptr<CaseThread> started(const std::string& how) {
    return std::make_unique<CaseThread>(experiment, behaving(how), shared);
  }
  ~CaseThreads() override { EXPECT_EQ(Living::count, 0) << "a case outlived its thread"; }

  Experiment experiment{"behave", behave};
  SharedObjects shared;
};

TEST_F(CaseThreads, SamplesComeFromTheExperiment) {
  const auto one = started("well");
  EXPECT_EQ(one->prepared().outcome.kind, Outcome::Kind::kMeasured);
  EXPECT_EQ(one->prepared().info.work.flops, 8);
  EXPECT_EQ(one->sample({3, 0}).sample.elapsed_ns, 301);
  const SampleReply second = one->sample({5, 0});
  EXPECT_EQ(second.sample.elapsed_ns, 502);
  EXPECT_EQ(second.sample.iterations, 5U);
}

TEST_F(CaseThreads, SayTheirLastWordsWhereTheyAreAskedForThem) {
  bool asked = false;
  const Experiment tells("tells", [&](State& state) {
    state.note("early", "1");
    int samples = 0;
    state.measure([&] { ++samples; });
    asked = state.is_concluding();
    if (!asked) return;
    state.note("samples", std::to_string(samples));
    state.series({"depth", "1", {1, 2}, {{"of", "it"}}});
    if (samples > 1) state.wrong_answer("too many");
  });
  const auto concluded = [&](int samples) {
    CaseThread made(tells, behaving("well"), shared);
    EXPECT_EQ(made.prepared().info.notes.count("early"), 1U);
    for (int i = 0; i < samples; ++i) made.sample({1, 0});
    return made.conclude();
  };
  const Conclusion told = concluded(1);
  EXPECT_EQ(told.failure, "");
  EXPECT_EQ(told.notes, (StringMap{{"samples", "1"}}));
  ASSERT_EQ(told.series.size(), 1U);
  EXPECT_EQ(told.series[0].info.at("of"), "it");
  EXPECT_EQ(concluded(2).failure, "too many");
  { CaseThread released(tells, behaving("well"), shared); }
  EXPECT_FALSE(asked);
}

TEST_F(CaseThreads, AreInterleaved) {
  std::vector<std::unique_ptr<CaseThread>> cases;
  for (int i = 0; i < 5; ++i) cases.push_back(started("well"));
  EXPECT_EQ(Living::count, 5);
  for (int round = 1; round <= 20; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::size_t which = (i * 3 + static_cast<std::size_t>(round)) % cases.size();
      EXPECT_EQ(cases[which]->sample({which + 1, 0}).sample.elapsed_ns,
                static_cast<double>(which + 1) * 100 + round);
    }
  }
  cases.erase(cases.begin() + 2);
  EXPECT_EQ(Living::count, 4);
  EXPECT_EQ(cases[2]->sample({1, 0}).sample.elapsed_ns, 121);
}

TEST_F(CaseThreads, WhatHappensInPreparingIsTheOutcome) {
  struct Expected {
    const char* how;
    Outcome::Kind kind;
    const char* reason;
  };
  for (const Expected& expected : std::initializer_list<Expected>{
           {"throws", Outcome::Kind::kFailed, "boom in prepare"},
           {"silent throw", Outcome::Kind::kFailed, "threw an exception that says nothing"},
           {"throws a number", Outcome::Kind::kFailed, "threw something that is not a std::exception"},
           {"no memory", Outcome::Kind::kFailed, "out of memory"},
           {"skips", Outcome::Kind::kSkipped, "not today"},
           {"wrong", Outcome::Kind::kFailed, "wrong at 3"},
           {"no measure", Outcome::Kind::kFailed, "the experiment never called measure()"}}) {
    const auto one = started(expected.how);
    EXPECT_EQ(one->prepared().outcome.kind, expected.kind) << expected.how;
    EXPECT_EQ(one->prepared().outcome.reason, expected.reason);
    EXPECT_EQ(one->sample({1, 0}).failure, expected.reason);
  }
}

TEST_F(CaseThreads, AnExceptionInASampleFailsItAndAllLaterOnes) {
  const auto one = started("throws in sample");
  EXPECT_EQ(one->sample({1, 0}).failure, "");
  EXPECT_EQ(one->sample({1, 0}).failure, "boom in sample");
  EXPECT_EQ(one->sample({1, 0}).failure, "boom in sample");
  EXPECT_EQ(one->prepared().outcome.kind, Outcome::Kind::kMeasured);
}

TEST_F(CaseThreads, AFailureNeverReadsAsASample) {
  EXPECT_EQ(started("silent throw in sample")->sample({1, 0}).failure,
            "threw an exception that says nothing");
  EXPECT_EQ(started("no memory in sample")->sample({1, 0}).failure, "out of memory");
}

TEST_F(CaseThreads, AreReleasedWhileTheyWait) {
  started("well");
  EXPECT_EQ(Living::count, 0);
  const auto sampled = started("well");
  sampled->sample({1, 0});
}

TEST_F(CaseThreads, WhatThrowsAfterTheReleaseEndsQuietly) {
  started("throws after");
  started("measures again");
}

TEST_F(CaseThreads, ShareObjectsOneAfterTheOther) {
  Experiment sharing{"sharing", [](State& state) {
                       const auto pool = state.shared<int>("pool", [] { return std::make_shared<int>(0); });
                       const int before = ++*pool;
                       state.value("users", before, "1", Direction::kHigherIsBetter);
                       state.measure([&] { ++*pool; });
                     }};
  const CaseThread first(sharing, {}, shared);
  CaseThread second(sharing, {}, shared);
  EXPECT_EQ(second.prepared().info.metrics.at(0).amount, 2);
  EXPECT_EQ(second.sample({3, 0}).failure, "");
  const CaseThread third(sharing, {}, shared);
  EXPECT_EQ(third.prepared().info.metrics.at(0).amount, 6);
}

}  // namespace
}  // namespace headroom
