// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headroom/stats/changepoint.h"
#include "headroom/stats/quantile.h"
#include "noise.h"

namespace headroom {
namespace {

using Values = std::vector<double>;

/// By enumeration of all draws.
double counted_z(const Values& scores, std::size_t count, double sum) {
  std::vector<bool> drawn(scores.size());
  std::fill(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(count), true);
  double all = 0, beyond = 0;
  do {
    double total = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) total += drawn[i] ? scores[i] : 0;
    ++all;
    beyond += total >= sum - 1e-9;
  } while (std::prev_permutation(drawn.begin(), drawn.end()));
  return -normal_quantile(beyond / all);
}

Values centred(Values scores) {
  std::sort(scores.begin(), scores.end(), std::greater<>());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  for (double& score : scores) score -= mean;
  return scores;
}

void expect_as_counted(const Values& scores, std::size_t count) {
  for (std::size_t gap = 1; gap * count <= scores.size() * 2 / 3; ++gap) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += scores[i * gap];
    if (sum <= 0) break;
    EXPECT_NEAR(permutation_tail_z(scores, count, sum), counted_z(scores, count, sum),
                count < 5 ? 0.25 : 0.15)
        << count << " of " << scores.size() << ", every " << gap;
  }
}

TEST(PermutationTail, IsWhatCountingTheDrawsGives) {
  test::Noise noise(1);
  Values ranks(20), coarse(20), heavy(20);
  std::iota(ranks.begin(), ranks.end(), 1.0);
  for (double& value : coarse) value = std::round(noise.normal());
  for (double& value : heavy) value = std::clamp(2 * noise.normal() / noise.normal(), -3.5, 3.5);
  for (const Values& scores : {ranks, coarse, heavy, noise.series(20)}) {
    for (const std::size_t count : {3, 5, 8}) expect_as_counted(centred(scores), count);
  }
}

TEST(LevelShift, FiveNewValuesAboveAllOthersAreAsRareAsTheyAre) {
  test::Noise noise(2);
  Values values = noise.series(55);
  for (std::size_t i = 50; i < 55; ++i) values[i] += 8;
  const auto shift = rarest_level_shift(values);
  ASSERT_TRUE(shift);
  EXPECT_EQ(shift->index, 50u);
  // 1 in C(55, 5) = 3,478,761.
  EXPECT_NEAR(shift->z, -normal_quantile(1 / 3478761.0), 0.1);
}

TEST(LevelShift, ANewLevelWithTwoSpikesIsOneWithoutThem) {
  test::Noise noise(8);
  Values values = noise.series(56);
  for (std::size_t i = 50; i < 56; ++i) values[i] += 8;
  values[52] = values[54] = 100;
  const auto shift = rarest_level_shift(values);
  ASSERT_TRUE(shift);
  EXPECT_EQ(shift->index, 50u) << "four others are 1 in C(54, 4) draws";
  EXPECT_GT(shift->z, 4.5);
}

TEST(LevelShift, UpAndDownBeforeAndAfterAreTheSame) {
  test::Noise noise(3);
  Values values = noise.series(50);
  for (std::size_t i = 42; i < 50; ++i) values[i] += 4;
  const auto up = rarest_level_shift(values);
  Values mirrored = values;
  for (double& value : mirrored) value = -value;
  EXPECT_NEAR(rarest_level_shift(mirrored)->z, up->z, 1e-6);
  std::reverse(mirrored.begin(), mirrored.end());
  EXPECT_NEAR(rarest_level_shift(mirrored)->z, up->z, 1e-6);
  EXPECT_EQ(rarest_level_shift(mirrored)->index, 50 - up->index);
}

TEST(LevelShift, TwoSpikesAreNoLevel) {
  test::Noise noise(4);
  Values values = noise.series(200);
  values[198] = values[199] = 100;
  values[197] = 0.3;
  EXPECT_LT(rarest_level_shift(values)->z, 4);
  values[197] = 99;
  EXPECT_GT(rarest_level_shift(values)->z, 4.5);
  values[197] = 70;
  EXPECT_GT(rarest_level_shift(values)->z, 4.5);
}

TEST(LevelShift, TooFewEqualAndInfiniteValues) {
  EXPECT_FALSE(rarest_level_shift(Values{1, 2, 3, 4, 5}));
  EXPECT_EQ(rarest_level_shift(Values(30, 7.0))->z, 0);
  Values values(30, 7.0);
  values[4] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(rarest_level_shift(values), std::invalid_argument);
}

TEST(LevelShift, MostValuesEqual) {
  Values values(40, 7.0);
  for (std::size_t i = 34; i < 40; ++i) values[i] = 8;
  const auto shift = rarest_level_shift(values);
  EXPECT_EQ(shift->index, 34u);
  EXPECT_GT(shift->z, 4);
}

TEST(LevelShift, PlaceIsWhereTwoLevelsFit) {
  Values values{1, 2, 1, 2, 1, 2, 1, 2, 6, 7, 6, 7, 6};
  for (const std::size_t near : {5, 8, 10}) EXPECT_EQ(best_step_index(values, near), 8u) << near;
  values[2] = 1e6;  // one spike does not move it
  EXPECT_EQ(best_step_index(values, 9), 8u);
}

template <typename Series>
double share_with_changes(int repetitions, Series series) {
  int count = 0;
  for (int i = 0; i < repetitions; ++i) count += !change_points(series(i)).empty();
  return static_cast<double>(count) / repetitions;
}

TEST(ChangePoints, TooFewValuesTellNothing) {
  EXPECT_FALSE(change_critical(13, ChangeLevel::kSuspected));
  EXPECT_TRUE(change_points({}).empty());
  EXPECT_TRUE(change_points(Values{1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9}).empty());
  EXPECT_FALSE(suspected_change({}, {}));
}

TEST(ChangePoints, CriticalValuesGrowWithTheCount) {
  double last_certain = 0;
  for (const std::size_t count : {14, 20, 33, 50, 75, 100, 200, 700, 3000, 10000, 50000, 1000000}) {
    const double certain = change_critical(count, ChangeLevel::kCertain).value();
    EXPECT_GT(certain, last_certain) << count;
    EXPECT_GT(certain, change_critical(count, ChangeLevel::kSuspected).value()) << count;
    last_certain = certain;
  }
}

TEST(ChangePoints, CriticalValuesAreTheQuantilesTheySay) {
  test::Noise noise(3);
  constexpr int kSeries = 4000;
  int beyond = 0;
  for (int i = 0; i < kSeries; ++i) {
    beyond += rarest_level_shift(noise.series(45))->z > change_critical(45, ChangeLevel::kSuspected).value();
  }
  // 1 % of 4,000 is 40 with a deviation of 6.3.
  EXPECT_GT(beyond, 20);
  EXPECT_LT(beyond, 62);
}

TEST(ChangePoints, SteadySeriesHaveNone) {
  test::Noise noise(1);
  for (const std::size_t count : {20, 60, 150}) {
    EXPECT_LE(share_with_changes(700, [&](int) { return noise.series(count); }), 0.01) << count;
    EXPECT_LE(share_with_changes(700,
                                 [&](int) {
                                   Values values = noise.series(count);
                                   for (double& value : values) value = std::exp(2 * value);
                                   return values;
                                 }),
              0.01)
        << count;
  }
}

TEST(ChangePoints, SpikesAtTheEndAreNoChange) {
  test::Noise noise(2);
  EXPECT_LE(share_with_changes(700,
                               [&](int i) {
                                 Values values = noise.series(50);
                                 values.back() = 1000;
                                 if (i % 2 == 1) values[values.size() - 2] = 1000;
                                 return values;
                               }),
            0.01);
}

TEST(ChangePoints, CorrelatedSeriesHaveFew) {
  test::Noise noise(5);
  // Uncorrected, 17 % of the long ones; short ones may hide the correlation.
  EXPECT_LE(share_with_changes(500, [&](int) { return noise.series(60, 0.5); }), 0.10);
  EXPECT_LE(share_with_changes(300, [&](int) { return noise.series(200, 0.5); }), 0.02);
}

TEST(ChangePoints, HeavyTailsHaveNone) {
  test::Noise noise(9);
  EXPECT_LE(share_with_changes(1000,
                               [&](int) {
                                 Values values =
                                     noise.series(100);  // Student's t with two degrees of freedom
                                 for (double& value : values) value /= std::sqrt(-std::log(noise.uniform()));
                                 return values;
                               }),
            0.01);
}

struct Found {
  double near = 0, exact = 0;
};
Found found_after(std::size_t after) {
  test::Noise noise(4);
  constexpr std::size_t kBefore = 40;
  constexpr int kSeries = 500;
  Found found;
  for (int i = 0; i < kSeries; ++i) {
    Values values = noise.series(kBefore + after);
    for (std::size_t k = kBefore; k < values.size(); ++k) values[k] += 3;
    const auto changes = change_points(values);
    const auto within = [&](std::size_t reach) {
      return std::any_of(changes.begin(), changes.end(), [&](const ChangePoint& change) {
        return change.index + reach >= kBefore && change.index <= kBefore + reach;
      });
    };
    found.near += within(4) ? 1.0 / kSeries : 0;
    found.exact += within(0) ? 1.0 / kSeries : 0;
  }
  return found;
}

TEST(ChangePoints, StepIsFoundWithinFiveSixAndEightValues) {
  // bench_changepoints: 94, 98 and 99 %, and 83 % exactly.
  EXPECT_GE(found_after(5).near, 0.90);
  EXPECT_GE(found_after(6).near, 0.95);
  const Found eight = found_after(8);
  EXPECT_GE(eight.near, 0.98);
  EXPECT_GE(eight.exact, 0.78);
}

TEST(ChangePoints, SeveralChangesComeInOrderAtTheirPlaces) {
  test::Noise noise(6);
  Values values = noise.series(120);
  for (std::size_t i = 40; i < 80; ++i) values[i] += 6;
  for (std::size_t i = 80; i < 120; ++i) values[i] += 12;
  const auto changes = change_points(values);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_NEAR(static_cast<double>(changes[0].index), 40, 2);
  EXPECT_NEAR(static_cast<double>(changes[1].index), 80, 2);
  EXPECT_FALSE(suspected_change(values, changes));
}

TEST(ChangePoints, ThereAndBackIsTwoChanges) {
  test::Noise noise(7);
  Values values = noise.series(90);
  for (std::size_t i = 30; i < 60; ++i) values[i] += 8;
  EXPECT_EQ(change_points(values).size(), 2u);
}

TEST(ChangePoints, FewValuesAfterAStepAreSuspectedFirst) {
  test::Noise noise(8);
  Values values = noise.series(60);
  for (std::size_t i = 57; i < 60; ++i) values[i] += 10;
  values[56] = -1;  // must not be the largest by chance
  values[10] = 5;   // of three values even the rarest draw is too likely
  values[11] = 3;
  EXPECT_TRUE(change_points(Values(values.begin(), values.end() - 1)).empty());
  EXPECT_TRUE(change_points(values).empty());
  const auto suspected = suspected_change(values, {});
  ASSERT_TRUE(suspected);
  EXPECT_EQ(suspected->index, 57u);
}

TEST(ChangePoints, ConstantAndCoarseSeries) {
  EXPECT_TRUE(change_points(Values(100, 5.0)).empty());
  Values two_levels(20, 5.0);
  two_levels.resize(40, 6.0);
  const auto changes = change_points(two_levels);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].index, 20u);
}

TEST(ChangePoints, AStepOfRoundingIsNone) {
  const auto stepped = [](double by) {
    Values values(20, 5.0);
    values.resize(40, 5 * (1 + by));
    return values;
  };
  const double ulp = std::numeric_limits<double>::epsilon();
  for (const double by : {ulp, -ulp, 1e-12, -1e-10}) {
    EXPECT_TRUE(change_points(stepped(by)).empty()) << by;
    EXPECT_FALSE(suspected_change(stepped(by), {})) << by;
    EXPECT_EQ(differing_parts(stepped(by), std::vector<ChangePoint>{{20, 9}}, 0).size(), 1u) << by;
  }
  for (const double by : {1e-8, -1e-6}) EXPECT_EQ(change_points(stepped(by)).size(), 1u) << by;
  Values both = stepped(ulp);  // and a change that rounding must not hide
  both.resize(60, 6.0);
  const auto changes = change_points(both);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].index, 40u);
}

TEST(ChangePoints, RoundingThatGrowsIsNoSpread) {
  Values values;
  for (int i = 0; i < 60; ++i) values.push_back(5 * (1 + (i < 30 ? 1 : 40) * ((i * 7) % 5 - 2) * 1e-15));
  EXPECT_TRUE(spread_changes(values, series_parts(values, {})).empty());
}

TEST(ChangePoints, ValuesMustBeFinite) {
  Values values(20, 1.0);
  values[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(change_points(values), std::invalid_argument);
}

std::vector<SeriesPart> parts_of(const Values& values) {
  return series_parts(values, change_points(values));
}

Values around_100(test::Noise& noise, std::size_t count) {
  Values values = noise.series(count);
  for (double& value : values) value += 100;
  return values;
}

TEST(SeriesParts, StepsAreLevels) {
  test::Noise noise(1);
  int drifts = 0, two = 0;
  for (int i = 0; i < 200; ++i) {
    Values values = around_100(noise, 60);
    for (std::size_t k = 40; k < 60; ++k) values[k] += 4;
    const auto parts = parts_of(values);
    two += parts.size() == 2;
    for (const SeriesPart& part : parts) drifts += part.drifts;
  }
  EXPECT_GE(two, 190);
  EXPECT_LE(drifts, 4);
}

TEST(SeriesParts, ADriftIsOnePartWithALine) {
  test::Noise noise(2);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    Values values = around_100(noise, 60);
    for (std::size_t k = 0; k < 60; ++k) values[k] += 10 * static_cast<double>(k) / 59;
    const auto parts = parts_of(values);
    if (parts.size() != 1 || !parts[0].drifts) continue;
    ++found;
    EXPECT_NEAR(parts[0].last - parts[0].first, 10, 3);
  }
  EXPECT_GE(found, 180);
}

TEST(SeriesParts, SteadySeriesNeitherDriftNorChangeTheirSpread) {
  test::Noise noise(3);
  int drifts = 0, spreads = 0;
  for (int i = 0; i < 500; ++i) {
    const Values values = around_100(noise, 80);
    const auto parts = parts_of(values);
    for (const SeriesPart& part : parts) drifts += part.drifts;
    spreads += !spread_changes(values, parts).empty();
  }
  EXPECT_LE(drifts, 5);
  EXPECT_LE(spreads, 8);
}

TEST(SeriesParts, CorrelatedSeriesSeldomDrift) {
  test::Noise noise(5);
  for (const double rho : {0.5, 0.7}) {
    int drifts = 0;
    for (int i = 0; i < 300; ++i) drifts += series_parts(noise.series(100, rho), {}).at(0).drifts;
    EXPECT_LE(drifts, 6) << rho;  // without the correction 14 and 37
  }
}

TEST(SeriesParts, SpreadThatGrowsIsFoundAndIsNoLevel) {
  test::Noise noise(4);
  int found = 0;
  for (int i = 0; i < 100; ++i) {
    Values values = around_100(noise, 100);
    for (std::size_t k = 60; k < 100; ++k) values[k] = 100 + 4 * (values[k] - 100);
    const auto changes = spread_changes(values, parts_of(values));
    if (changes.size() != 1) continue;
    ++found;
    EXPECT_GT(changes[0].ratio, 1.5);
  }
  EXPECT_GE(found, 90);
}

TEST(SeriesParts, ChangesOfLessThanTheLeastAreLeftOut) {
  Values values;
  for (int i = 0; i < 90; ++i) values.push_back((i < 30 ? 100 : i < 60 ? 101 : 120) + 0.01 * (i * 7 % 11));
  const auto changes = change_points(values);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(differing_parts(values, changes, 0).size(), 3u);
  const auto parts = differing_parts(values, changes, 0.05);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].begin, 60u);
  EXPECT_EQ(differing_parts(values, changes, 0.5).size(), 1u);
  EXPECT_TRUE(differing_parts({}, {}, 0.5).empty());
}

TEST(LineFit, FindsTheLineThatMadeThePoints) {
  const std::vector<double> x{0.004, 0.0625, 1, 4, 25};
  std::vector<double> y;
  for (const double size : x) y.push_back(85 + 1900 * size);
  const auto fit = fit_line(x, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->intercept, 85, 1e-6);
  EXPECT_NEAR(fit->slope, 1900, 1e-6);
  EXPECT_LT(fit->worst_error, 1e-9);
}

TEST(LineFit, SmallValuesCountAsMuchAsLargeOnes) {
  // 100 + x, but 300 too much at x = 1000.
  const std::vector<double> x{1, 2, 1000, 2000}, y{101, 102, 1400, 2000};
  const auto fit = fit_line(x, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->intercept, 100, 2);
  EXPECT_GT(fit->worst_error, 0.05);
}

TEST(LineFit, NeedsTwoSizesAndTimesAboveZero) {
  EXPECT_FALSE(fit_line(std::vector<double>{}, std::vector<double>{}));
  EXPECT_FALSE(fit_line(std::vector<double>{4, 4}, std::vector<double>{1, 2}));
  EXPECT_THROW(fit_line(std::vector<double>{1, 2}, std::vector<double>{1, 0}), std::invalid_argument);
  EXPECT_THROW(fit_line(std::vector<double>{1, 2}, std::vector<double>{1}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
