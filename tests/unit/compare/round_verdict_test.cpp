// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/round_verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "sample_records.h"

namespace headroom {
namespace {

using test::environment_of;
using test::record_of;

/// Commands in rounds of one session, each so many times as slow as the first.
struct Commands {
  std::vector<Record> records;
  std::vector<RoundComparison> suite;

  Commands(const std::vector<double>& factors, double noise, std::size_t rounds, Look look = Look::kLast) {
    const auto session = environment_of(1, "here");
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (const double factor : factors) {
      std::vector<double> values;
      for (std::size_t i = 0; i < rounds; ++i) values.push_back(factor * std::exp(noise * normal(random)));
      records.push_back(record_of("c" + std::to_string(records.size()), values));
      records.back().environment = session;
    }
    for (std::size_t i = 1; i < records.size(); ++i) {
      suite.push_back({compare_records(records[0], records[i]), look});
    }
  }
  Commands(const Commands&) = delete;

  const Comparison& judged(double margin = 0.01, std::size_t which = 0) {
    judge_rounds(suite, margin);
    return suite[which].comparison;
  }
};

TEST(JudgeRounds, SaysOnWhichSideOfTheMarginTheIntervalLies) {
  EXPECT_EQ(Commands({1, 1.05}, 0.01, 60).judged().verdict, Verdict::kRegression);
  EXPECT_EQ(Commands({1, 0.95}, 0.01, 60).judged().verdict, Verdict::kImprovement);
  EXPECT_EQ(Commands({1, 1}, 0.001, 60).judged().verdict, Verdict::kSame);
  const Comparison open = Commands({1, 1.0}, 0.03, 40).judged();
  EXPECT_EQ(open.verdict, Verdict::kInconclusive);
  EXPECT_FALSE(told_apart(open));
}

TEST(JudgeRounds, WhatIsToldApartMayBeWithinTheMargin) {
  Commands commands({1, 1.011}, 0.01, 60);
  const Comparison& apart = commands.judged();
  EXPECT_EQ(apart.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(told_apart(apart));
  EXPECT_GT(apart.ratio->interval->low, 1);
  EXPECT_LT(apart.ratio->interval->low, 1.01);
  EXPECT_EQ(commands.judged(0).verdict, Verdict::kRegression) << "without a margin it is one";
}

TEST(JudgeRounds, SixRoundsThatAgreeDecideAndFiveDoNot) {
  EXPECT_EQ(Commands({5, 10}, 1e-4, 6).judged().verdict, Verdict::kRegression);
  EXPECT_EQ(Commands({5, 10}, 1e-4, 5).judged().verdict, Verdict::kUnderpowered);
  EXPECT_EQ(Commands({5, 5}, 1e-4, 6).judged().verdict, Verdict::kSame);
}

TEST(JudgeRounds, ManyComparisonsNeedMoreRounds) {
  EXPECT_EQ(fewest_rounds(0), 6U);
  EXPECT_EQ(fewest_rounds(1), 6U);
  EXPECT_EQ(fewest_rounds(2), 7U);
  EXPECT_EQ(fewest_rounds(8), 9U);
  const std::vector<double> factors{1, 2, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(Commands(factors, 1e-3, 6).judged(0).verdict, Verdict::kUnderpowered);
  EXPECT_EQ(Commands(factors, 1e-3, 9).judged(0).verdict, Verdict::kRegression);
}

TEST(JudgeRounds, ALookThatEndedSamplingHasATenthOfTheErrors) {
  EXPECT_EQ(Commands({5, 10}, 1e-4, 6, Look::kRunning).judged().verdict, Verdict::kUnderpowered);
  EXPECT_EQ(Commands({5, 10}, 1e-4, 20, Look::kRunning).judged().verdict, Verdict::kRegression);
}

TEST(JudgeRounds, LeavesAloneWhatIsNotOfOneSession) {
  Commands commands({1, 2}, 0.01, 20);
  commands.records[1].environment = environment_of(2, "here");
  commands.suite[0].comparison = compare_records(commands.records[0], commands.records[1]);
  EXPECT_EQ(commands.judged().estimator, Estimator::kUnpaired);
  EXPECT_EQ(commands.judged().verdict, Verdict::kInconclusive);
  judge_rounds({}, 0.01);
}

/// Eight comparisons of equal commands: how often is any called different?
TEST(JudgeRounds, ManyEqualCommandsAreNotToldApart) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Commands commands(std::vector<double>(9, 1), 0, 30);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (Record& record : commands.records) {
      for (double& value : record.samples[0].values) value = std::exp(0.01 * normal(random));
    }
    judge_rounds(commands.suite, 0);
    for (const RoundComparison& one : commands.suite) {
      if (told_apart(one.comparison)) {
        ++alarms;
        break;
      }
    }
  }
  EXPECT_LE(alarms, 200 * 0.08);
}

}  // namespace
}  // namespace headroom
