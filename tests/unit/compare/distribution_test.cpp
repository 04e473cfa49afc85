// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "headroom/compare/compared_ratio.h"
#include "headroom/compare/comparison.h"
#include "headroom/compare/verdict.h"
#include "sample_records.h"
#include "simulated_noise.h"

namespace headroom {
namespace {

using bench::Noise;
using test::around;
using test::judged;
using test::kRunsAreAlike;
using test::record_of;

struct TwoModes {
  double slow_share = 0.5;
  std::size_t samples = 50;
  double factor = 1;
  std::size_t processes = 1;
};

Record sampled(const TwoModes& model, Noise& noise) {
  Record record = record_of("a", {});
  record.samples.resize(model.processes);
  for (std::size_t i = 0; i < model.samples; ++i) {
    const double level = noise.uniform() < model.slow_share ? 13 : 10;
    record.samples[i * model.processes / model.samples].values.push_back(level * model.factor *
                                                                         (1 + 0.01 * noise.normal()));
  }
  return record;
}

struct Said {
  int regressions = 0, improvements = 0;
};

Said said_of(const TwoModes& before, const TwoModes& after) {
  Noise noise;
  Said said;
  for (int i = 0; i < 100; ++i) {
    const Record baseline = sampled(before, noise), test = sampled(after, noise);
    const Verdict verdict = judged(baseline, test, 0.01).verdict;
    said.regressions += verdict == Verdict::kRegression ? 1 : 0;
    said.improvements += verdict == Verdict::kImprovement ? 1 : 0;
  }
  return said;
}

TEST(Modes, SeldomChangeWhereNothingDoes) {
  for (const TwoModes& model :
       {TwoModes{0.5, 30}, {0.5, 50}, {0.2, 30}, {0.2, 50}, {0.5, 50, 1, 3}, {0.2, 50, 1, 3}}) {
    const Said said = said_of(model, model);
    EXPECT_LE(said.regressions + said.improvements, 5)
        << model.slow_share << " of " << model.samples << " in " << model.processes;
  }
}

TEST(Modes, AreFoundToBeSlower) {
  for (const double share : {0.5, 0.2}) {
    const Said said = said_of({share, 50}, {share, 50, 1.03});
    EXPECT_GE(said.regressions, 90) << share;
    EXPECT_LE(said.improvements, 1) << share;
  }
}

TEST(Modes, AreFoundToBeMoreOften) {
  const Said said = said_of({0.2, 100}, {0.6, 100});
  EXPECT_GE(said.regressions, 80);
  EXPECT_EQ(said.improvements, 0);
}

Record levels(const std::string& places, double low = 10, double high = 13) {
  std::vector<double> values = around(1, places.size());
  for (std::size_t i = 0; i < places.size(); ++i) values[i] *= places[i] == 'a' ? low : high;
  return record_of("a", values);
}

std::string repeated(const std::string& pattern, std::size_t count) {
  std::string text;
  while (text.size() < count) text += pattern;
  return text.substr(0, count);
}

TEST(Modes, AreComparedEachWithItsLike) {
  const Record before = levels(repeated("abbaabab", 48)),
               after = levels(repeated("abbaabab", 48), 10.3, 13.39);
  const Comparison comparison = judged(before, after);
  ASSERT_TRUE(comparison.modes && comparison.modes->matched.size() == 2);
  EXPECT_EQ(comparison.estimator, Estimator::kModes);
  EXPECT_EQ(comparison.samples, 48U);
  EXPECT_NEAR(comparison.modes->matched[1].ratio.ratio, 1.03, 0.002);
  EXPECT_DOUBLE_EQ(comparison.modes->matched[1].share_change, 0);
  EXPECT_NEAR(comparison.ratio->ratio, 1.03, 0.002);
  EXPECT_LT(comparison.ratio->interval->high - comparison.ratio->interval->low, 0.02);
  EXPECT_NEAR(comparison.modes->share_effect->ratio, 1, 1e-9);
  EXPECT_EQ(comparison.verdict, Verdict::kRegression);
  ASSERT_TRUE(comparison.p_value);
  EXPECT_LT(*comparison.p_value, 0.01);
}

TEST(Modes, AreTheSameOnlyIfTheirSharesAreToo) {
  const std::string few = repeated("abbaabab", 48), many = repeated("abbaabababab", 6000);
  EXPECT_EQ(judged(levels(few), levels(few)).verdict, Verdict::kInconclusive);
  EXPECT_EQ(judged(levels(many), levels(many), 0.02).verdict, Verdict::kSame);
}

TEST(Modes, InStretchesTellNothingByTheirShares) {
  const Record before = levels(std::string(25, 'a') + std::string(25, 'b'));
  const Comparison other = judged(before, levels(std::string(10, 'a') + std::string(40, 'b')));
  ASSERT_TRUE(other.modes);
  EXPECT_TRUE(other.modes->in_stretches());
  EXPECT_FALSE(other.modes->share_effect);
  EXPECT_EQ(other.verdict, Verdict::kInconclusive);
}

TEST(Modes, ThatOnlyOneSideHasAreNeverTheSame) {
  const Record one = record_of("a", around(10, 50)), two = levels(repeated("aab", 50));
  const Comparison comparison = judged(one, two, 0.10);
  ASSERT_TRUE(comparison.modes);
  EXPECT_TRUE(comparison.modes->baseline.groups.empty());
  EXPECT_EQ(comparison.modes->test.groups.size(), 2U);
  EXPECT_TRUE(comparison.modes->matched.empty());
  EXPECT_EQ(comparison.estimator, Estimator::kUnpaired);
  EXPECT_EQ(comparison.verdict, Verdict::kInconclusive);
}

TEST(Modes, FasterWithMoreOfTheSlowIsSaidOnlyIfBothTogetherAreClear) {
  const std::string rare = repeated("aaaab", 500), often = repeated("abbab", 500);
  // Only the shares change: 1.18 / 1.06 = 1.113.
  EXPECT_EQ(judged(levels(rare), levels(often, 9.5, 12.35)).verdict, Verdict::kRegression);
  EXPECT_EQ(judged(levels(rare), levels(often, 7, 9.1)).verdict, Verdict::kImprovement);
  EXPECT_EQ(judged(levels(rare), levels(often, 9, 11.7)).verdict, Verdict::kInconclusive);
}

TEST(Modes, KnowOfProcessesWhoseSharesDiffer) {
  const auto in_processes = [](const std::vector<std::string>& all) {
    Record record = levels(all[0]);
    for (std::size_t i = 1; i < all.size(); ++i) record.samples.push_back(levels(all[i]).samples[0]);
    return record;
  };
  const std::string rare = repeated("aaaab", 40), often = repeated("abbab", 40);
  const Comparison alike = judged(in_processes({rare, rare, rare}), in_processes({often, often, often}));
  EXPECT_EQ(alike.verdict, Verdict::kRegression);
  const Comparison unlike = judged(in_processes({rare, rare, often}), in_processes({often, often, rare}));
  EXPECT_EQ(unlike.verdict, Verdict::kInconclusive);
}

TEST(Modes, ThatAreProcessesAreNone) {
  Record before = record_of("a", around(10, 20));
  for (const double level : {12.0, 10.1, 12.1})
    before.samples.push_back(record_of("a", around(level, 20)).samples[0]);
  EXPECT_FALSE(judged(before, before).modes);
}

TEST(Modes, LeaveOneGroupAsItIs) {
  const Record before = record_of("a", around(100, 40)), after = record_of("a", around(104, 40));
  const Comparison comparison = judged(before, after);
  EXPECT_FALSE(comparison.modes);
  const RatioEstimate expected =
      unpaired_series_ratio(after.samples[0].values, {}, before.samples[0].values, {});
  EXPECT_EQ(comparison.ratio->ratio, expected.ratio);
  EXPECT_EQ(comparison.ratio->interval->low, expected.interval->low);
  EXPECT_EQ(comparison.ratio->interval->high, expected.interval->high);
}

std::vector<double> up_to(std::size_t count, double factor) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = factor * static_cast<double>(i * 37 % count + 1);
  return values;
}

TEST(ComparePercentile, IsLinearAndHasOrderStatistics) {
  const Record before = record_of("a", up_to(101, 1)), after = record_of("a", up_to(101, 3));
  const auto found = compare_percentile(compare_records(before, after), 75);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->baseline, 76);
  EXPECT_DOUBLE_EQ(found->test, 228);
  EXPECT_DOUBLE_EQ(found->ratio, 3);
  ASSERT_TRUE(found->ratio_interval && found->baseline_interval);
  EXPECT_TRUE(found->ratio_interval->contains(3));
  EXPECT_GT(found->ratio_interval->high, found->test_interval->high / found->baseline);
}

TEST(ComparePercentile, IsUndefinedWhereTheSampleIsTooSmall) {
  const Record small = record_of("a", up_to(20, 1));
  const auto found = compare_percentile(compare_records(small, small), 95);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->ratio_interval);
  EXPECT_FALSE(found->baseline_interval);
}

TEST(ShiftFunction, TellsWhichPartMoved) {
  std::vector<double> slow = up_to(400, 1);
  for (double& value : slow) value = 1000 + 0.01 * value;
  const Record before = record_of("a", slow);
  for (std::size_t i = 0; i < slow.size(); ++i) slow[i] *= i * 37 % 400 >= 300 ? 3 : 1;
  const Record after = record_of("a", slow);
  Comparison comparison = compare_records(before, after, {RunSpread{0, 1000}, std::nullopt, "a test"});
  comparison.margin = 0.01;
  const std::vector<DecileShift> shifts = shift_function(comparison);
  ASSERT_EQ(shifts.size(), 9U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(shifts[i].verdict, Verdict::kSame) << i;
  EXPECT_EQ(shifts[7].verdict, Verdict::kInconclusive) << "the step is near";
  EXPECT_EQ(shifts[8].verdict, Verdict::kRegression);
  EXPECT_TRUE(shifts[8].decile.ratio_interval->contains(3));
  EXPECT_GT(shifts[4].decile.ratio_interval->confidence, 0.99) << "one of nine";
}

TEST(ShiftFunction, ClaimsNothingWhereRunsMayDiffer) {
  const Record before = record_of("a", around(10, 200)), after = record_of("a", around(20, 200));
  const auto all = [](const std::vector<DecileShift>& shifts, Verdict verdict) {
    return std::ranges::all_of(shifts, [&](const DecileShift& shift) { return shift.verdict == verdict; });
  };
  EXPECT_TRUE(all(shift_function(compare_records(before, after)), Verdict::kInconclusive));
  const Record few = record_of("a", around(10, 5));
  EXPECT_TRUE(all(shift_function(compare_records(few, few)), Verdict::kUnderpowered));
  EXPECT_TRUE(shift_function(compare_records(record_of("a", {}), few)).empty());
}

TEST(ComparePercentile, KnowsOnlyOfValuesHowFarRunsLieApart) {
  Record before = record_of("a", around(10, 200)), after = record_of("a", around(20, 200));
  for (Record* record : {&before, &after}) {
    record->limit = Limit{{{"read", 4096, "linear", "", 1}}, 5, 0.5, Interval{0.499, 0.501, 0.95}, false};
  }
  after.limit->fraction = 0.25;
  after.limit->interval = Interval{0.2499, 0.2501, 0.95};
  const RunKnowledge shares{std::nullopt, RunSpread{0.0001, 100}, "a test"};
  const Comparison by_shares = compare_records(before, after, shares);
  ASSERT_EQ(by_shares.estimator, Estimator::kShares);
  EXPECT_TRUE(by_shares.doubts.empty());
  for (const DecileShift& shift : shift_function(by_shares)) EXPECT_EQ(shift.verdict, Verdict::kInconclusive);
}

TEST(ComparePercentile, IsNothingWithoutSamples) {
  Record lone = record_of("a", {});
  lone.metric.value = 1;
  EXPECT_FALSE(compare_percentile(compare_records(lone, lone), 50));
}

}  // namespace
}  // namespace headroom
